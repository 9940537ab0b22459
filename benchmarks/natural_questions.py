"""What people ask of tables like those of `populations.py`: at least 36 questions each.

Each column is in at least one, and none of nine kinds makes more than a sixth of them. A line reads
`kind: question; question; …`, where `income @ 0.9` is a quantile.
"""

from __future__ import annotations

from dataclasses import dataclass

ASKED_AS = {
    "share": "proportion",
    "mean": "mean",
    "group mean": "mean",
    "difference": "ols",
    "quantile": "quantile",
    "table": "table",
    "correlation": "correlation",
    "ols": "ols",
    "logit": "logit",
}
"""Kind of question → kind of analysis."""


@dataclass(frozen=True)
class Question:
    """A question to a table.

    Attributes:
        kind: one of `ASKED_AS`.
        formula: as `us.analyze` takes it.
        probability: of a quantile.
    """

    kind: str
    formula: str
    probability: float = 0.5


def read(text: str) -> tuple[Question, ...]:
    """Questions, a kind a line.

    >>> read("share: sex; age > 60")[1].formula, read("quantile: age @ 0.9")[0].probability
    ('age > 60', 0.9)
    """
    found = []
    for line in text.strip().splitlines():
        kind, _, asked = line.partition(":")
        for one in asked.split(";"):
            formula, _, probability = one.partition("@")
            found.append(Question(kind.strip(), formula.strip(), float(probability or 0.5)))
    return tuple(found)


QUESTIONS = {
    "readme": """
share: sex; works; income > 25000; age >= 65
mean: age; income; works; log(income + 1)
group mean: age ~ sex; income ~ works; income ~ sex; age ~ works
difference: age ~ sex; income ~ sex; works ~ sex; age ~ works
quantile: income @ 0.5; income @ 0.9; age @ 0.25; age @ 0.5
table: sex + works; age + sex; works + income; sex + income
correlation: age + income; age + works; income + works; age + {sex == 'f'}
ols: income ~ age; income ~ age + sex; income ~ age + sex + works; works ~ age + sex
logit: works ~ age; works ~ sex; works ~ age + sex; {income > 25000} ~ age + sex
""",
    "skewed": """
share: sex; region; income > 40000; employed
mean: age; income; wealth; log(income + 1)
group mean: income ~ sex; wealth ~ region; age ~ employed; income ~ employed
difference: income ~ employed; wealth ~ sex; age ~ employed; employed ~ sex
quantile: income @ 0.5; income @ 0.9; wealth @ 0.5; age @ 0.25
table: sex + region; employed + region; income + sex; employed + sex
correlation: income + wealth; age + wealth; age + employed; income + {sex == 'f'}
ols: wealth ~ income; income ~ age + sex; employed ~ age + C(region)
ols: income ~ age + sex + region + employed
logit: employed ~ age; employed ~ age + sex; {income > 40000} ~ employed + sex
logit: employed ~ age + region
""",
    "heaped": """
share: contract; hours >= 40; content; sex
mean: hours; pay; age; content
group mean: hours ~ contract; hours ~ sex; pay ~ sex; content ~ contract
difference: hours ~ sex; pay ~ sex; content ~ sex; age ~ contract
quantile: hours @ 0.5; hours @ 0.9; pay @ 0.5; pay @ 0.9
table: sex + contract; content + contract; hours + sex; age + sex
correlation: hours + pay; age + pay; hours + content; pay + {sex == 'm'}
ols: pay ~ age; pay ~ hours + sex; content ~ hours + age + sex
ols: pay ~ age + sex + hours + contract
logit: {sex == 'f'} ~ hours; {contract == 'full'} ~ age; {hours >= 40} ~ age + sex
logit: {content >= 4} ~ hours + sex + age
""",
    "top-coded": """
share: sex; owner; income > 30000; school >= 12
mean: income; assets; school; age
group mean: income ~ sex; assets ~ owner; school ~ sex; age ~ owner
difference: income ~ sex; income ~ owner; owner ~ sex; assets ~ sex
quantile: income @ 0.5; income @ 0.9; assets @ 0.5; age @ 0.75
table: sex + owner; school + sex; income + sex; age + owner
correlation: income + school; assets + age; age + owner; income + age
ols: income ~ school; income ~ school + sex; owner ~ age + sex + school
ols: income ~ age + school + sex + owner
logit: owner ~ age; owner ~ age + sex; owner ~ age + school + sex; {sex == 'f'} ~ income
""",
    "rare": """
share: member; disabled; poor; origin
mean: score; age; poor; member
group mean: score ~ member; score ~ origin; age ~ disabled; poor ~ disabled
difference: poor ~ disabled; score ~ member; score ~ disabled; poor ~ sex
quantile: score @ 0.5; score @ 0.1; age @ 0.5; score @ 0.9
table: member + poor; disabled + poor; origin + sex; disabled + member
correlation: poor + disabled; member + poor; score + age; score + disabled
ols: poor ~ disabled + age; score ~ member + age; poor ~ disabled + member + sex
ols: score ~ age + sex + disabled + origin
logit: poor ~ disabled; poor ~ disabled + age; disabled ~ age + sex
logit: poor ~ disabled + member + sex
""",
    "default bins": """
share: urban; tenure; size; income > 35000
mean: income; food; rent; size
group mean: income ~ urban; food ~ tenure; rent ~ urban; income ~ tenure
difference: rent ~ urban; food ~ urban; income ~ tenure; size ~ urban
quantile: income @ 0.5; income @ 0.9; food @ 0.5; rent @ 0.25
table: urban + tenure; size + urban; size + tenure; income + urban
correlation: income + food; income + rent; food + size; rent + urban
ols: food ~ income; food ~ income + size; rent ~ income + urban + size
ols: food ~ income + size + urban + tenure
logit: urban ~ income; urban ~ rent + income; {tenure == 'own'} ~ size
logit: {food > 6000} ~ income + size + urban
""",
    "survey": """
share: region; health; works; pay > 2000
mean: pay; hours; trust; children
group mean: pay ~ sex; hours ~ sex; trust ~ votes; age ~ married
difference: pay ~ works; hours ~ sex; trust ~ votes; children ~ married
quantile: pay @ 0.5; pay @ 0.9; age @ 0.25; trust @ 0.5
table: sex + works; region + house; health + sex; married + works
correlation: age + children; school + trust; hours + age; school + pay
ols: trust ~ school; hours ~ age + sex; works ~ age + sex + married
ols: votes ~ age + sex + online + house
logit: votes ~ age; works ~ married + sex; online ~ age + sex; votes ~ school + age + married
""",
}
"""Name of a population → its questions."""

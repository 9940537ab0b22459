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
    "demo": """
share: religious; rate_marriage; affairs > 0; children
mean: affairs; age; children; educ
group mean: affairs ~ religious; age ~ religious; educ ~ occupation; children ~ religious
difference: affairs ~ religious; {affairs > 0} ~ rate_marriage; age ~ religious
difference: educ ~ occupation_husb
quantile: affairs @ 0.75; affairs @ 0.9; age @ 0.5; yrs_married @ 0.5
table: religious + rate_marriage; occupation + occupation_husb; children + age; age + religious
correlation: age + yrs_married; affairs + rate_marriage; children + educ; religious + affairs
ols: affairs ~ yrs_married; children ~ age + educ; yrs_married ~ age + children + religious
ols: affairs ~ rate_marriage + age + yrs_married + religious
logit: {affairs > 0} ~ religious; {affairs > 0} ~ rate_marriage + yrs_married
logit: {rate_marriage >= 4} ~ age; {affairs > 0} ~ religious + age + educ
""",
    "wide": """
share: c0; c1; c2; x0 > 33; x1 > 40; c3
mean: x0; x1; x2; x3; x4; x5
group mean: x6 ~ c4; x7 ~ c5; x8 ~ c6; x9 ~ c7
difference: x10 ~ c8; x11 ~ c9; x12 ~ c10; {c11 == 'l0'} ~ c3
quantile: x13 @ 0.5; x14 @ 0.9; x0 @ 0.5; x1 @ 0.25
table: c12 + c13; c14 + c15; c0 + c4; x2 + c16
correlation: x0 + x4; x1 + x5; x2 + x3; x9 + {c17 == 'l0'}
ols: x0 ~ x4; x1 ~ x5 + c1; x2 ~ x6 + x10 + c2; x3 ~ x7 + x11 + c3 + c18
logit: {c1 == 'l0'} ~ x1; {c5 == 'l0'} ~ x5 + c9; {c19 == 'l0'} ~ x3; {c3 == 'l0'} ~ x7 + c1 + c7
""",
    "adult": """
share: sex; workclass; hours_per_week >= 40; capital_gain > 0
mean: age; hours_per_week; capital_gain; education_num
group mean: age ~ income; hours_per_week ~ sex; capital_loss ~ income; education_num ~ race
difference: hours_per_week ~ sex; age ~ income; education_num ~ income; {income == '>50K'} ~ sex
quantile: age @ 0.5; hours_per_week @ 0.9; hours_per_week @ 0.5; age @ 0.25
table: sex + income; race + income; relationship + sex; marital_status + income
correlation: age + hours_per_week; education_num + hours_per_week; capital_gain + education_num
correlation: age + {income == '>50K'}
ols: hours_per_week ~ age; hours_per_week ~ education_num + sex
ols: {income == '>50K'} ~ age + education_num + sex
ols: hours_per_week ~ age + education_num + sex + relationship
logit: {income == '>50K'} ~ age; {income == '>50K'} ~ education_num + sex
logit: {income == '>50K'} ~ age + hours_per_week + sex; {sex == 'Male'} ~ occupation
share: education; native_country
""",
    "discharges": """
share: gender; age; num_procedures >= 1; readmitted; diag_1; payer_code
mean: time_in_hospital; num_medications; num_lab_procedures; number_inpatient; number_emergency
group mean: time_in_hospital ~ gender; num_medications ~ age; number_inpatient ~ readmitted
group mean: number_emergency ~ readmitted; num_lab_procedures ~ diag_1; num_medications ~ insulin
difference: time_in_hospital ~ gender; number_inpatient ~ gender; num_procedures ~ gender
difference: number_diagnoses ~ insulin; num_medications ~ readmitted
quantile: time_in_hospital @ 0.5; num_medications @ 0.9; num_lab_procedures @ 0.5
quantile: number_inpatient @ 0.9
table: gender + readmitted; age + readmitted; diag_1 + gender; insulin + A1Cresult
table: race + gender
correlation: time_in_hospital + num_medications; num_procedures + num_medications
correlation: number_inpatient + number_emergency; num_lab_procedures + time_in_hospital
correlation: number_diagnoses + time_in_hospital
ols: time_in_hospital ~ num_medications; time_in_hospital ~ num_medications + num_procedures
ols: num_medications ~ time_in_hospital + gender + num_procedures
ols: time_in_hospital ~ age; number_inpatient ~ number_emergency + gender
logit: {readmitted != 'NO'} ~ number_inpatient; {readmitted != 'NO'} ~ time_in_hospital
logit: {insulin != 'No'} ~ num_medications; {diag_1 == 'circulatory'} ~ time_in_hospital
""",
    "labour": """
share: SEX; PINCP > 50000; EDU; MSP; INDP_CAT; AGEP >= 65
mean: AGEP; PINCP; POVPIP; log(PINCP + 10000)
group mean: PINCP ~ SEX; PINCP ~ OWN_RENT; AGEP ~ MSP; POVPIP ~ RAC1P; PINCP ~ EDU
group mean: AGEP ~ DPHY; PINCP ~ INDP_CAT
difference: PINCP ~ SEX; POVPIP ~ SEX; AGEP ~ SEX; PINCP ~ DEYE; POVPIP ~ OWN_RENT
quantile: PINCP @ 0.5; PINCP @ 0.9; AGEP @ 0.5; POVPIP @ 0.25
table: SEX + MSP; SEX + EDU; OWN_RENT + SEX; DREM + DPHY; RAC1P + HISP
correlation: AGEP + PINCP; PINCP + POVPIP; AGEP + POVPIP; PINCP + {SEX == '1'}
ols: PINCP ~ AGEP; PINCP ~ AGEP + SEX; POVPIP ~ AGEP + SEX + OWN_RENT
ols: PINCP ~ EDU + SEX; AGEP ~ SEX + OWN_RENT
logit: {DPHY == '1'} ~ AGEP; {PINCP > 50000} ~ SEX; {OWN_RENT == '1'} ~ AGEP + SEX
logit: {DREM == '1'} ~ AGEP + SEX
""",
}
"""Name of a population → its questions."""

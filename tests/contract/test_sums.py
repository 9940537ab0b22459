"""Methods that say nothing of whole records work on sums alone, as a cluster gives them."""

from fractions import Fraction

import pytest

from understudy.data.table import Table
from understudy.errors import MethodError
from understudy.mechanisms.tables import RowCount


class SumsAlone(Table):
    """An engine that has no records to give."""

    has_records = False

    def code_rows(self):
        raise AssertionError("whole records were asked for")

    def read(self, names):
        raise AssertionError("whole records were asked for")


@pytest.mark.nightly(every=3)
def test_a_method_works_on_sums_or_says_that_it_needs_records(one_set, tables):
    rows, method = tables["ordinary"], one_set.configured
    gate = one_set.gate(SumsAlone(rows.frame, one_set.schema(len(rows))))
    gate.ask(RowCount(), spend=gate.budget.amount / 20)
    bought = gate.budget.amount * method.setup_share(gate.schema) / 2

    def fit():
        method.setup(gate, bought).fit(gate.budget.amount * Fraction(2, 5), 10)

    if method.needs_records:
        with pytest.raises(MethodError, match="needs whole records, and these rows give sums"):
            fit()
    else:
        fit()

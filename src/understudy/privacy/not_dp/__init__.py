"""What leaves without a finite ε. A release whose ledger names one of these is stamped."""

from typing import Any, Final

from understudy.privacy.mechanism import Mechanism

WITHOUT_EPSILON: Final[tuple[type[Mechanism[Any, Any]], ...]] = ()
"""All of them. The list is closed."""

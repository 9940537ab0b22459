"""Whether a Spark cluster keeps what it reads to itself, as far as its settings say so.

Rows and exact sums pass between its machines, lie on their disks when memory is short, and Spark's
own pages and logs count the rows of every job. What is not closed is closed by the steward, who
says so (`trusted_cluster`), and the manifest repeats it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from understudy.engine.confidential import NO_PREMISES, Premises
from understudy.errors import DataError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

DISK: Final = "spark.io.encryption.enabled=true"
NETWORK: Final = "spark.authenticate=true with spark.network.crypto.enabled=true"
LOGS: Final = "spark.eventLog.enabled=false"
PAGES: Final = "spark.ui.enabled=false or spark.acls.enable=true"
_ONE_MACHINE: Final = re.compile(r"local(\[[^]]*\])?")

CONNECTED: Final = (
    "The rows were read over Spark Connect, on a cluster that the steward trusts: nobody checked "
    "that what it sends and writes is encrypted, and that its pages and logs are closed to others."
)


def premises_of_cluster(frame: DataFrame, *, connected: bool, trusted: bool) -> Premises:
    """What is taken for granted of the cluster behind a data frame.

    Args:
        frame: of that cluster.
        connected: whether it is reached over Spark Connect.
        trusted: whether the steward vouches for what is not set.

    Raises:
        DataError: names the settings that are needed, and are not vouched for.
    """
    if connected:
        if not trusted:
            raise DataError(
                "A client of Spark Connect cannot check how its cluster is closed. If everybody on "
                "the way may see the rows, say so with trusted_cluster=True (--trusted-cluster)."
            )
        return Premises(conditions=(CONNECTED,))
    lacking = lacking_settings(dict(frame.sparkSession.sparkContext.getConf().getAll()))
    if not lacking:
        return NO_PREMISES
    if not trusted:
        raise DataError(
            "The Spark session is open to others: rows and exact counts could be seen on the "
            f"network, on disks, on its pages or in its logs. Set {'; '.join(lacking)}; or, if "
            "everybody there may see the rows, say so with trusted_cluster=True "
            "(--trusted-cluster)."
        )
    return Premises(
        conditions=(
            "The rows were read on a Spark cluster that the steward trusts. Not set there: "
            f"{'; '.join(lacking)}.",
        )
    )


def lacking_settings(set_to: dict[str, str]) -> list[str]:
    """What would have to be set for a cluster to be closed.

    A session on one machine sends nothing over a network. It spills to disk all the same.

    Args:
        set_to: all settings.
    """

    def on(name: str, default: str = "false") -> bool:
        return set_to.get(name, default).strip().lower() == "true"

    sealed = on("spark.authenticate") and on("spark.network.crypto.enabled")
    alone = _ONE_MACHINE.fullmatch(set_to.get("spark.master", ""))
    closed = {
        DISK: on("spark.io.encryption.enabled"),
        NETWORK: bool(alone) or sealed or on("spark.ssl.rpc.enabled"),
        LOGS: not on("spark.eventLog.enabled"),
        PAGES: not on("spark.ui.enabled", "true") or on("spark.acls.enable"),
    }
    return [setting for setting, is_closed in closed.items() if not is_closed]

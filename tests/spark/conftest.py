"""A Spark session of one machine, closed as a steward's has to be."""

import os
import shutil
import sys
import warnings
from importlib.util import find_spec

import pytest

from one_machine import SETTINGS


@pytest.fixture(scope="session")
def spark_is_here():
    """Skip what needs Spark where it, or the Java that it runs in, is not installed."""
    if find_spec("pyspark") is None:
        pytest.skip("pyspark is not installed; the development extras have it")
    java = os.path.join(os.environ.get("JAVA_HOME", ""), "bin", "java")
    if shutil.which("java") is None and not os.path.exists(java):
        pytest.skip("there is no Java; Spark needs version 17 or later")


@pytest.fixture(scope="session")
def spark(spark_is_here, tmp_path_factory):
    """Two tasks at a time, each of them up to twice."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of pandas, which plays no part
        from pyspark.sql import SparkSession

        os.environ["PYSPARK_PYTHON"] = sys.executable
        builder = SparkSession.builder.master("local[2,2]")
        places = {"spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse"))}
        for name, value in (SETTINGS | places).items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()

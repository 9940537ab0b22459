"""Settings of a Spark that lives for some seconds, on one machine."""

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.io.encryption.enabled": "true",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "3",
    "spark.python.worker.reuse": "true",
    # Most of what runs, runs once: half of the time would go into compiling it well.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}

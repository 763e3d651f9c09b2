"""Asks an engine the questions of a page about the dataset `fleet` in the current folder, and prints, as JSON, the
answers by the name in each one's first line, with the seconds that all took and the most MiB that were resident:
fleet.py ENGINE PAGE"""
import json
import os
import re
import sys
import time

TABLES = ("captures", "stacks")


def duckdb(views):
    import duckdb

    connection = duckdb.connect()
    connection.execute(views)

    def ask(question):
        cursor = connection.execute(question)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row)) for row in cursor.fetchall()]

    return ask


def spark(_):
    from pyspark.sql import SparkSession

    # Two executors with a core and 1 GiB each, in processes of their own, as on a cluster.
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
    session = builder.config("spark.sql.sources.partitionColumnTypeInference.enabled", "false").getOrCreate()
    for table in TABLES:
        session.read.parquet(f"fleet/{table}").createOrReplaceTempView(table)
    return lambda question: [row.asDict() for row in session.sql(question).collect()]


def datafusion(_):
    from datafusion import SessionContext

    context = SessionContext()
    for table in TABLES:
        partitions = "partitioned by (service, version, day)"
        context.sql(f"create external table {table} stored as parquet {partitions} location 'fleet/{table}/'")
    return lambda question: context.sql(question).to_pylist()


def resident():
    """The most that this process and those that it started had."""
    most = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.getpgid(int(pid)) == os.getpid():
                most += int(re.search(r"VmHWM:\s*(\d+)", open(f"/proc/{pid}/status").read())[1]) >> 10
        except (OSError, TypeError):
            pass  # It has ended.
    return most


os.setpgid(0, 0)
engine, page = sys.argv[1:]
views, *questions = re.findall(r"```sql\n(.*?)```", open(page).read(), re.S)
begin = time.monotonic()
ask = {"duckdb": duckdb, "spark": spark, "datafusion": datafusion}[engine](views)
answers = {question.split()[1]: ask(question) for question in questions}
result = {"answers": answers, "seconds": round(time.monotonic() - begin, 1), "mib": resident()}
json.dump(result, sys.stdout, default=float)

"""`make bench`: measure, print the table, save the results.

Name suites to run only those (`make bench ARGS="identity --seconds 2"`).
"""

import argparse
import sys

from bench import (
    alarms,
    backlog,
    clients,
    cluster,
    console,
    delivery,
    growth,
    identity,
    ingest,
    keepup,
    large,
    live,
    networks,
    notifications,
    peers,
    restart,
    traces,
    transfers,
    values,
)
from bench.table import Findings

SUITES = {
    "identity": identity.measure,
    "ingest": ingest.measure,
    "networks": networks.measure,
    "live": live.measure,
    "delivery": delivery.measure,
    "notifications": notifications.measure,
    "alarms": alarms.measure,
    "console": console.measure,
    "transfers": transfers.measure,
    "clients": clients.measure,
    "traces": traces.measure,
    "cluster": cluster.measure,
    "console-large": console.measure_large,
    "large": large.measure,
    "backlog": backlog.measure,
    "values": values.measure,
    "keepup": keepup.measure,
    "growth": growth.measure,
    "peers": peers.measure,
    "restart": restart.measure,
}
ON_REQUEST = {
    "alarms",
    "keepup",
    "large",
    "values",
    "backlog",
    "cluster",
    "console-large",
    "growth",
    "peers",
    "restart",
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument(
        "suites",
        nargs="*",
        choices=[*SUITES, []],
        help="all but the long ones if none is named",
    )
    parser.add_argument("--seconds", type=float, default=5.0, help="length of each measurement")
    chosen = parser.parse_args()
    findings = Findings("longwire")
    try:
        for name in chosen.suites or [each for each in SUITES if each not in ON_REQUEST]:
            SUITES[name](findings, chosen.seconds)
    finally:  # what was measured before something failed
        findings.show()
        print(findings.markdown())
        print(f"kept in {findings.save()}")
    return 0 if findings.all_met() else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""A composition function in Python, with the standard library alone: a Grafana dashboard with a panel per service."""

import json
import re
import sys


def panel(index, service):
    if not re.fullmatch("[a-z0-9-]+", service):
        raise ValueError(f"spec.services: {service!r} is not the name of a service")
    return {
        "type": "timeseries",
        "title": f"{service}: errors per second",
        "gridPos": {"x": index % 2 * 12, "y": index // 2 * 8, "w": 12, "h": 8},
        "targets": [{"expr": f'sum(rate(http_requests_total{{service="{service}",code=~"5.."}}[5m]))'}],
    }


def compose(xr):
    name, spec = xr["metadata"]["name"], xr["spec"]
    dashboard = {"title": name, "panels": [panel(i, service) for i, service in enumerate(spec["services"])]}
    return {
        "name": "dashboard",
        "resource": {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": f"dashboard-{name}",
                "namespace": spec["namespace"],
                "labels": {"grafana_dashboard": "1"},
            },
            "data": {f"{name}.json": json.dumps(dashboard, indent=2)},
        },
        "readinessChecks": [{"type": "None"}],
    }


# Reads a FunctionIO, and writes it with additions. The entries of earlier steps pass through.
io = json.load(sys.stdin)
try:
    entry = compose(io["observed"]["composite"]["resource"])
    io.setdefault("desired", {}).setdefault("resources", []).append(entry)
except ValueError as error:
    # A user's mistake: the fatal result reports it, and nothing is applied.
    io.setdefault("results", []).append({"severity": "Fatal", "message": str(error)})
json.dump(io, sys.stdout)

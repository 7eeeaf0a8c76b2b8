import { expect, test } from "vitest";
import { ControllerMetrics } from "./metrics.ts";

test("series of a kind that is gone are removed, and others stay", async () => {
  const metrics = new ControllerMetrics("1");
  for (const kind of ["XApp.example.org", "XOther.example.org"]) {
    const ended = { kind, controller: undefined, milliseconds: 5, waitedMs: 1 };
    metrics.reconciled({ ...ended, failed: false });
    metrics.reconciled({ ...ended, failed: true });
  }
  const milliseconds = 1;
  for (const resource of ["xapps.example.org", "xothers.example.org"]) {
    const request = { what: `get ${resource}`, resource, milliseconds, retries: 0 };
    for (const status of [200, 404]) metrics.requested({ ...request, verb: "get", status });
    metrics.requested({ ...request, verb: "watch", status: 200 });
  }
  await metrics.forget({ group: "example.org", version: "v1", kind: "XApp", plural: "xapps", namespaced: false });
  const { text } = await metrics.text();
  expect(text).not.toContain("XApp.example.org");
  expect(text).not.toContain("xapps.example.org");
  expect(text.match(/XOther\.example\.org/g)?.length).toBeGreaterThan(3);
  expect(text.match(/xothers\.example\.org/g)).toHaveLength(3);
});

test("a replica is the leader, and has the objects by condition, from the start of its engine", async () => {
  const metrics = new ControllerMetrics("1");
  expect((await metrics.text()).text).toContain("xfn_controller_leader 0");
  const levels = { running: 0, waiting: 0, composedKinds: 0, uncached: 0, stuckMs: 0 };
  let conditions = [{ kind: "XApp.example.org", condition: "Ready", status: "False", count: 3 }];
  metrics.watch({ levels: () => levels, conditions: () => conditions }, () => true);
  const { text } = await metrics.text();
  expect(text).toContain("xfn_controller_leader 1");
  expect(text).toContain('xfn_controller_objects{kind="XApp.example.org",condition="Ready",status="False"} 3');
  conditions = [];
  expect((await metrics.text()).text).not.toContain("XApp.example.org");
});

test("no metric of the process is a gauge with the name of a counter", async () => {
  const { text } = await new ControllerMetrics("1").text();
  expect(text).toContain("nodejs_active_resources");
  expect(text).not.toMatch(/^# TYPE \w+_total gauge$/m);
});

test("Crossplane's names are there on request, with its labels, and go with their kind", async () => {
  const metrics = new ControllerMetrics("1", true);
  const kind = "XApp.example.org";
  const app = { group: "example.org", version: "v1", kind: "XApp", plural: "xapps", namespaced: false };
  const times = { milliseconds: 5, waitedMs: 1 };
  metrics.reconciled({ kind, controller: "composite/xapps.example.org", failed: true, ...times });
  metrics.reconciled({ kind: "Provider.pkg.crossplane.io", controller: undefined, failed: false, ...times });
  metrics.circuitChanged(app, true);
  metrics.circuitChanged(app, false);
  metrics.lookedUp(true, "ghcr.io/team/fn:v1");
  metrics.functionEnded({ name: "ghcr.io/team/fn@sha256:1", code: "OK", severity: "Warning", milliseconds: 5 });
  metrics.functionEnded({ name: "fn-auto", code: "RunFailed", severity: "Normal", milliseconds: 5 });
  metrics.inspectionDropped({ functionName: "ghcr.io/team/fn:v1", type: "request", reason: "TooLarge" });
  const request = { what: "apply XApp a", verb: "apply", resource: "xapps.example.org", milliseconds: 1, retries: 0 };
  metrics.requested({ ...request, status: 200 });
  const { text } = await metrics.text();
  for (const line of [
    'controller_runtime_reconcile_total{controller="composite/xapps.example.org",result="error"} 1',
    'controller_runtime_reconcile_errors_total{controller="composite/xapps.example.org"} 1',
    'controller_runtime_reconcile_total{controller="packages/provider.pkg.crossplane.io",result="success"} 1',
    'workqueue_queue_duration_seconds_count{name="composite/xapps.example.org"} 1',
    'circuit_breaker_opens_total{controller="composite/xapps.example.org"} 1',
    'circuit_breaker_closes_total{controller="composite/xapps.example.org"} 1',
    'function_run_function_response_cache_hits_total{function_name="ghcr.io/team/fn"} 1',
    'rest_client_requests_total{code="200",method="PATCH"} 1',
    'xfn_controller_queue_wait_seconds_count{kind="XApp.example.org"} 1',
    'xfn_controller_circuit_breaker_changes_total{kind="XApp.example.org",to="open"} 1',
    'xfn_controller_function_seconds_count{code="RunFailed"} 1',
    'xfn_controller_inspector_dropped_total{type="request",reason="TooLarge"} 1',
    'function_run_function_pipeline_inspector_errors_total{function_name="ghcr.io/team/fn",type="request"} 1',
  ])
    expect(text).toContain(line);
  expect(text).toMatch(
    /^function_run_function_response_total\{function_name="ghcr.io\/team\/fn",.*grpc_code="OK",result_severity="Warning"\} 1$/m,
  );
  expect(text).toMatch(/^function_run_function_seconds_count\{.*function_name="fn-auto".*grpc_code="Unknown".*\} 1$/m);
  await metrics.forget(app);
  expect((await metrics.text()).text).not.toContain("xapps.example.org");
  expect((await new ControllerMetrics("1").text()).text).not.toContain("controller_runtime");
});

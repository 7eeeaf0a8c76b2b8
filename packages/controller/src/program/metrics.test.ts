import { expect, test } from "vitest";
import { ControllerMetrics } from "./metrics.ts";

test("series of a kind that is gone are removed, and others stay", async () => {
  const metrics = new ControllerMetrics("1");
  for (const kind of ["XApp.example.org", "XOther.example.org"]) {
    metrics.reconciled(kind, false, 5);
    metrics.reconciled(kind, true, 5);
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

import { converge, invoke } from "@xfn/functionio/testing";
import { expect, test } from "vitest";
import devBox from "./function.ts";

const box = (running: boolean) => ({
  metadata: { name: "alice" },
  spec: { namespace: "dev-alice", image: "devbox:1", running },
});

test("a running machine mounts its disk", async () => {
  const { desired } = await invoke(devBox, { xr: box(true) });
  expect(desired["machine"]).toMatchObject({
    kind: "Pod",
    spec: { volumes: [{ persistentVolumeClaim: { claimName: "alice" } }] },
  });
});

test("switching a machine off deletes it and keeps its disk", async () => {
  const { desired } = await invoke(devBox, { xr: box(false) });
  expect(desired["machine"]).toBeNull();
  expect(desired["disk"]).toMatchObject({ kind: "PersistentVolumeClaim" });
});

test("desires the same for any existing resources", async () => {
  await expect(converge(devBox, { xr: box(true) })).resolves.toMatchObject({ rounds: 1 });
});

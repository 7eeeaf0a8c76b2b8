import { converge, invoke } from "@xfn/functionio/testing";
import { expect, test } from "vitest";
import devBox from "./function.ts";

const box = (running: boolean) => ({
  metadata: { name: "alice" },
  spec: { namespace: "dev-alice", image: "devbox:1", running },
});

test("a machine that runs has its disk in it", async () => {
  const { desired } = await invoke(devBox, { xr: box(true) });
  expect(desired["machine"]).toMatchObject({
    kind: "Pod",
    spec: { volumes: [{ persistentVolumeClaim: { claimName: "alice" } }] },
  });
});

test("a machine that is switched off is deleted, and its disk is kept", async () => {
  const { desired } = await invoke(devBox, { xr: box(false) });
  expect(desired["machine"]).toBeNull();
  expect(desired["disk"]).toMatchObject({ kind: "PersistentVolumeClaim" });
});

test("what is desired does not depend on what exists already", async () => {
  await expect(converge(devBox, { xr: box(true) })).resolves.toMatchObject({ rounds: 1 });
});

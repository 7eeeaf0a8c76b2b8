import { converge, invoke } from "@xfn/functionio/testing";
import { expect, test } from "vitest";
import disks from "./function.ts";

const pool = (count: number) => ({ metadata: { name: "scratch" }, spec: { namespace: "build", count, size: "50Gi" } });
const disk = { apiVersion: "v1", kind: "PersistentVolumeClaim" };

test("there are as many disks as the pool says", async () => {
  const { desired } = await invoke(disks, { xr: pool(3) });
  expect(Object.keys(desired)).toEqual(["disk-0", "disk-1", "disk-2"]);
});

test("a pool that shrinks deletes the disks that are left over", async () => {
  const observed = { "disk-0": disk, "disk-1": disk, "disk-2": disk };
  const { desired } = await invoke(disks, { xr: pool(1), observed });
  expect(desired).toMatchObject({ "disk-0": disk, "disk-1": null, "disk-2": null });
});

test("what other functions made is left alone", async () => {
  const { desired } = await invoke(disks, { xr: pool(0), observed: { "disk-monitor": disk, machine: disk } });
  expect(desired).toEqual({});
});

test("what is desired does not depend on what exists already", async () => {
  await expect(converge(disks, { xr: pool(2) })).resolves.toMatchObject({ rounds: 1 });
});

import { converge, invoke } from "@xfn/functionio/testing";
import { expect, test } from "vitest";
import disks from "./function.ts";

const pool = (count: number) => ({ metadata: { name: "scratch" }, spec: { namespace: "build", count, size: "50Gi" } });
const disk = { apiVersion: "v1", kind: "PersistentVolumeClaim" };

test("the pool has the requested number of disks", async () => {
  const { desired } = await invoke(disks, { xr: pool(3) });
  expect(Object.keys(desired)).toEqual(["disk-0", "disk-1", "disk-2"]);
});

test("a shrinking pool deletes the excess disks", async () => {
  const observed = { "disk-0": disk, "disk-1": disk, "disk-2": disk };
  const { desired } = await invoke(disks, { xr: pool(1), observed });
  expect(desired).toMatchObject({ "disk-0": disk, "disk-1": null, "disk-2": null });
});

test("entries of other functions stay unchanged", async () => {
  const { desired } = await invoke(disks, { xr: pool(0), observed: { "disk-monitor": disk, machine: disk } });
  expect(desired).toEqual({});
});

test("desires the same for any existing resources", async () => {
  await expect(converge(disks, { xr: pool(2) })).resolves.toMatchObject({ rounds: 1 });
});

import { converge, invoke } from "@xfn/functionio/testing";
import { expect, test } from "vitest";
import backup from "./function.ts";

const given = {
  xr: { metadata: { name: "orders" }, spec: { namespace: "shop", storage: "20Gi" } },
  config: { schedule: "0 0 3 * * *" },
};

test("backs up the cluster of the database on the schedule of the Composition", async () => {
  const { desired } = await invoke(backup, given);
  expect(desired["backup"]?.["spec"]).toEqual({
    schedule: "0 0 3 * * *",
    cluster: { name: "orders" },
    backupOwnerReference: "cluster",
  });
});

test("desires the same for any existing resources", async () => {
  await expect(converge(backup, given)).resolves.toMatchObject({ rounds: 1 });
});

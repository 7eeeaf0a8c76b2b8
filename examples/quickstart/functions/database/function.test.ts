import { converge, invoke } from "@xfn/functionio/testing";
import { expect, test } from "vitest";
import database from "./function.ts";

const xr = { metadata: { name: "orders" }, spec: { namespace: "shop", storage: "20Gi" } };

test("a database has one instance, and its user owns it", async () => {
  const { desired } = await invoke(database, { xr });
  expect(desired["cluster"]?.["spec"]).toEqual({
    instances: 1,
    storage: { size: "20Gi" },
    bootstrap: { initdb: { database: "orders", owner: "orders" } },
  });
});

test("a highly available database has three instances", async () => {
  const { desired } = await invoke(database, { xr: { ...xr, spec: { ...xr.spec, highlyAvailable: true } } });
  expect(desired["cluster"]).toMatchObject({ spec: { instances: 3 } });
});

test("the status has the host and the name of the Secret", async () => {
  const { composite } = await invoke(database, { xr });
  expect(composite?.["status"]).toEqual({ host: "orders-rw.shop.svc", connectionSecret: "orders-app" });
});

test("desires the same for any existing resources", async () => {
  await expect(converge(database, { xr })).resolves.toMatchObject({ rounds: 1 });
});

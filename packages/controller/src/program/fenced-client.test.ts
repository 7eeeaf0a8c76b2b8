import type { Client } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { fencedClient } from "./fenced-client.ts";

test("without its lease a client reads, and writes nothing", async () => {
  const called: string[] = [];
  const all = new Proxy({} as Client, {
    get: (_, method: string) => () => {
      called.push(method);
      return Promise.resolve();
    },
  });
  let held = true;
  const client = fencedClient(all, () => held);
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } };
  const reference = { apiVersion: "v1", kind: "ConfigMap", name: "a" };
  const writes = [
    () => client.create(object),
    () => client.update(object),
    () => client.apply(object),
    () => client.patch(reference, "merge", {}),
    () => client.delete(reference),
    () => client.raw("POST", "/x"),
  ];
  for (const write of writes) await write();
  expect(called.splice(0)).toEqual(["create", "update", "apply", "patch", "delete", "raw"]);
  held = false;
  for (const write of writes) await expect(write()).rejects.toMatchObject({ code: "Aborted" });
  expect(called).toEqual([]);
  await client.get(reference);
  await client.raw("GET", "/readyz");
  expect(called).toEqual(["get", "raw"]);
});

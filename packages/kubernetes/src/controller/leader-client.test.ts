import { expect, test } from "vitest";
import { fakeApiServer } from "../../testing/fake-api-server.ts";
import { connect } from "../client/connect.ts";
import { leaderClient } from "./leader-client.ts";

const MAP = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "default" } };
const REFERENCE = { apiVersion: "v1", kind: "ConfigMap", namespace: "default", name: "a" };

test("a suspended process whose lease has expired unnoticed writes nothing", async () => {
  await using server = await fakeApiServer(({ json }) => json(MAP));
  const base = await connect({ access: server.access, fieldManager: "test" });
  const client = leaderClient(base, { lost: new AbortController().signal, valid: false });
  await expect(client.apply(MAP)).rejects.toMatchObject({ code: "Aborted" });
  expect(server.requests).toEqual([]);
  await base.close();
});

test("without the lease, writes are refused and not retried, and reads continue", async () => {
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  await using server = await fakeApiServer(({ method, status, json }) => {
    if (method === "GET") return json(MAP);
    status(429, "TooManyRequests", {}, { "retry-after": "5" });
    resolve();
  });
  const base = await connect({ access: server.access, fieldManager: "test" });
  const lost = new AbortController();
  const lease = { lost: lost.signal, valid: true };
  const client = leaderClient(base, lease);
  try {
    const write = expect(client.apply(MAP)).rejects.toMatchObject({ code: "Aborted" });
    await asked;
    lost.abort();
    lease.valid = false;
    await write;
    const patches = server.requests.filter((request) => request.startsWith("PATCH"));
    expect(patches).toHaveLength(1);
    for (const refused of [
      client.create(MAP),
      client.update(MAP),
      client.apply(MAP),
      client.patch(REFERENCE, "merge", {}),
      client.delete(REFERENCE),
      client.raw("POST", "/x"),
    ]) {
      await expect(refused).rejects.toMatchObject({ code: "Aborted" });
    }
    expect((await client.get(REFERENCE)).metadata.name).toBe("a");
    expect(server.requests.every((request) => request.startsWith("GET") || patches.includes(request))).toBe(true);
  } finally {
    await base.close();
  }
});

import { ApiError, type Client, type LiveObject } from "@xfn/kubernetes";
import { describe, expect, test } from "vitest";
import { type CrashPoint, faultyClient, type WriteFault } from "./faulty-client.ts";

// A client that crashes controllers: which writes are stored, and which replies arrive.

const OBJECT = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } };

/** A server with `apply` and `get` only. */
function server(): { client: Client; stored: string[] } {
  const stored: string[] = [];
  const live = (name: string): LiveObject => ({ ...OBJECT, metadata: { name, uid: name, resourceVersion: "1" } });
  const client = {
    apply: ({ metadata }: typeof OBJECT) => {
      stored.push(metadata.name);
      return Promise.resolve(live(metadata.name));
    },
    get: ({ name }: { name: string }) => Promise.resolve(live(name)),
  } as unknown as Client;
  return { client, stored };
}

/** Whether this promise stays pending. */
async function isUnanswered(asked: Promise<unknown>): Promise<boolean> {
  const turn = new Promise<"turn">((resolve) => setTimeout(resolve, 20, "turn"));
  return (await Promise.race([asked.then(() => "answer"), turn])) === "turn";
}

const at = (number: number, fault: WriteFault) => (write: { number: number }) =>
  write.number === number ? fault : undefined;

describe("a client that crashes at the second write", () => {
  test.each([
    ["before", [], true],
    ["after-commit", ["b"], true],
    ["after-reply", ["b"], false],
  ] as [CrashPoint, string[], boolean][])("%s it", async (point, second, unanswered) => {
    const { client, stored } = server();
    const faulty = faultyClient(client, at(2, { kind: "crash", point }));
    await faulty.client.apply(OBJECT);
    const asked = faulty.client.apply({ ...OBJECT, metadata: { name: "b" } });
    expect(await isUnanswered(asked)).toBe(unanswered);
    await faulty.drained();
    expect(stored).toEqual(["a", ...second]);
    expect(faulty.hasCrashed).toBe(true);
    await faulty.crashed;
    // The controller is gone and sends no further request.
    expect(await isUnanswered(faulty.client.get({ ...OBJECT, name: "a" }))).toBe(true);
    expect(await isUnanswered(faulty.client.apply({ ...OBJECT, metadata: { name: "c" } }))).toBe(true);
    expect(stored).toEqual(["a", ...second]);
  });
});

test("reports a write that the server rejects", async () => {
  const { client } = server();
  const apply = (object: typeof OBJECT): Promise<unknown> =>
    object.metadata.name === "a" ? client.apply(object) : Promise.reject(new ApiError("Forbidden", "no"));
  const faulty = faultyClient({ ...client, apply } as unknown as Client, () => undefined);
  await faulty.client.apply(OBJECT);
  await expect(faulty.client.apply({ ...OBJECT, metadata: { name: "b" } })).rejects.toThrow("no");
  expect(faulty.writes.map(({ answer }) => answer.refused)).toEqual([false, true]);
  expect(faulty.stored).toBe(1);
});

test("a late write is stored when it arrives, after the controller has crashed", async () => {
  const { client, stored } = server();
  const faulty = faultyClient(client, at(1, { kind: "late" }));
  expect(await isUnanswered(faulty.client.apply(OBJECT))).toBe(true);
  expect(stored).toEqual([]);
  await faulty.deliverLate();
  expect(stored).toEqual(["a"]);
});

test("a write with a lost reply is stored; a conflict, a busy or an unreachable server store nothing", async () => {
  for (const [kind, code, count] of [
    ["lost-reply", "Unreachable", 1],
    ["unreachable", "Unreachable", 0],
    ["conflict", "Conflict", 0],
    ["busy", "Busy", 0],
  ] as const) {
    const { client, stored } = server();
    const faulty = faultyClient(client, at(1, { kind }));
    const error: unknown = await faulty.client.apply(OBJECT).catch((found: unknown) => found);
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ code });
    expect(stored).toHaveLength(count);
    // The controller is alive and retries.
    await faulty.client.apply(OBJECT);
    expect(faulty.writes.map(({ number, verb }) => `${number} ${verb}`)).toEqual(["1 apply", "2 apply"]);
    expect(faulty.stored).toBe(1);
  }
});

test("dry runs, events and leases do not count as writes", async () => {
  const { client } = server();
  const faulty = faultyClient(client, () => ({ kind: "busy" }));
  await faulty.client.apply(OBJECT, { dryRun: true });
  await faulty.client.apply({ ...OBJECT, kind: "Lease" });
  await faulty.client.apply({ ...OBJECT, kind: "Event" });
  expect(faulty.writes).toEqual([]);
});

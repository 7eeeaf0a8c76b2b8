import fc from "fast-check";
import { expect, test } from "vitest";
import { thing } from "../../testing/scripted-client.ts";
import type { LiveObject } from "../client/client.ts";
import { ObjectCache } from "./object-cache.ts";

test("the reported changes add up to the server's state, under any sequence of events and lists", async () => {
  const step = fc.record({ name: fc.constantFrom("a", "b", "c"), what: fc.constantFrom("write", "delete", "remake") });
  const round = fc.record({ steps: fc.array(step), seen: fc.boolean(), repeat: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(round), async (rounds) => {
      const server = new Map<string, LiveObject>();
      const reported = new Map<string, LiveObject>();
      const cache = new ObjectCache(
        {
          added(object) {
            expect(reported.has(object.metadata.name)).toBe(false);
            reported.set(object.metadata.name, object);
          },
          updated(object, before) {
            expect(reported.get(object.metadata.name)).toBe(before);
            expect(object.metadata.uid).toBe(before.metadata.uid);
            reported.set(object.metadata.name, object);
          },
          deleted(last) {
            expect(reported.get(last.metadata.name)?.metadata.uid).toBe(last.metadata.uid);
            reported.delete(last.metadata.name);
          },
        },
        () => expect.unreachable(),
      );
      cache.addIndexers({ uid: ({ metadata }) => [metadata.uid] });
      let version = 8;
      for (const { steps, seen, repeat } of rounds) {
        const events: Parameters<typeof cache.apply>[0][] = [];
        for (const { name, what } of steps) {
          const before = server.get(name);
          version++;
          if (before !== undefined && what !== "write") {
            server.delete(name);
            events.push({ type: "DELETED", object: thing(name, version, { uid: before.metadata.uid }) });
            version++;
          }
          if (what === "delete") continue;
          const uid = what === "remake" || before === undefined ? `${name}${version}` : before.metadata.uid;
          const object = thing(name, version, { uid });
          events.push({ type: server.has(name) ? "MODIFIED" : "ADDED", object });
          server.set(name, object);
        }
        // The watch delivers all events, perhaps twice; or it breaks, and a list follows.
        if (seen) for (const event of repeat ? [...events, ...events] : events) cache.apply(event);
        if (!seen || repeat) await cache.replace([...server.values()]);
        expect(reported).toEqual(server);
        expect(cache.list().length).toBe(server.size);
        for (const object of server.values()) expect(cache.byIndex("uid", object.metadata.uid)).toEqual([object]);
      }
    }),
  );
});

test("a list of 10,000 objects is compared in many turns of the event loop, and a signal ends that", async () => {
  let reported = 0;
  const cache = new ObjectCache({ added: () => reported++, deleted: () => reported-- }, () => expect.unreachable());
  const items = Array.from({ length: 10_000 }, (_, index) => thing(`n${index}`, index + 1));
  const inOneTurn = async (ended: Promise<void>): Promise<number[]> => {
    const counts: number[] = [];
    let isEnded = false;
    let before = reported;
    void ended.then(() => (isEnded = true));
    while (!isEnded) {
      await new Promise((resolve) => setImmediate(resolve));
      counts.push(Math.abs(reported - before));
      before = reported;
    }
    return counts;
  };
  expect(Math.max(...(await inOneTurn(cache.replace(items))))).toBeLessThanOrEqual(500);
  expect(reported).toBe(10_000);
  expect(Math.max(...(await inOneTurn(cache.replace([]))))).toBeLessThanOrEqual(500);
  expect(reported).toBe(0);
  const ending = new AbortController();
  const replaced = cache.replace(items, ending.signal);
  await new Promise((resolve) => setImmediate(resolve));
  ending.abort();
  await replaced;
  expect(reported).toBeGreaterThan(0);
  expect(reported).toBeLessThan(10_000);
});

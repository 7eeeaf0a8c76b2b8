import fc from "fast-check";
import { expect, test } from "vitest";
import { thing } from "../../test-support/scripted-client.ts";
import type { LiveObject } from "../client/client.ts";
import { ObjectCache } from "./object-cache.ts";

test("the reported changes add up to the server's state, under any sequence of events and lists", () => {
  const step = fc.record({ name: fc.constantFrom("a", "b", "c"), what: fc.constantFrom("write", "delete", "remake") });
  const round = fc.record({ steps: fc.array(step), seen: fc.boolean(), repeat: fc.boolean() });
  fc.assert(
    fc.property(fc.array(round), (rounds) => {
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
        if (!seen || repeat) cache.replace([...server.values()]);
        expect(reported).toEqual(server);
        expect(cache.list().length).toBe(server.size);
        for (const object of server.values()) expect(cache.byIndex("uid", object.metadata.uid)).toEqual([object]);
      }
    }),
  );
});

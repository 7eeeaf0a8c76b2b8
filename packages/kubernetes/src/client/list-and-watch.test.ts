import { expect, test } from "vitest";
import { CONFIG_MAP, codeOf, configMap, withServer } from "../../testing/connected-client.ts";
import type { LiveObject, WatchEvent } from "./client.ts";

test("a list contains all pages of one snapshot", async () => {
  await withServer(
    ({ query, json }) => {
      const at = Number(query.get("continue") ?? 0);
      json({
        metadata: { resourceVersion: "7", ...(at < 2 ? { continue: String(at + 1) } : {}) },
        items: [{ metadata: { name: `n${at}` } }],
      });
    },
    async (client, server) => {
      const { items, resourceVersion } = await client.list(CONFIG_MAP);
      expect(items.map(({ metadata, kind, apiVersion }) => [metadata.name, kind, apiVersion])).toEqual(
        [0, 1, 2].map((at) => [`n${at}`, "ConfigMap", "v1"]),
      );
      expect(resourceVersion).toBe("7");
      expect(server.requests).toHaveLength(3);
    },
  );
});

test("a list whose continue token has expired begins again in pages, some times", async () => {
  let begun = 0;
  let expiries = 1;
  await withServer(
    ({ query, json, status }) => {
      if (!query.has("continue")) begun++;
      if (query.has("continue") && expiries-- > 0) status(410, "Expired");
      else if (query.has("continue")) json({ metadata: { resourceVersion: "9" }, items: [configMap("b")] });
      else json({ metadata: { resourceVersion: "9", continue: "x" }, items: [configMap(`a${begun}`)] });
    },
    async (client) => {
      const transform = () => {
        let count = 0;
        return (object: LiveObject) => ({ ...object, data: { place: String(++count) } });
      };
      const { items, resourceVersion } = await client.list(CONFIG_MAP, { transform });
      expect(items.map(({ metadata }) => metadata.name)).toEqual(["a2", "b"]);
      expect(items.map((item) => item["data"])).toEqual([{ place: "1" }, { place: "2" }]);
      expect(resourceVersion).toBe("9");
      expiries = Number.POSITIVE_INFINITY;
      expect(await codeOf(client.list(CONFIG_MAP))).toBe("Expired");
      expect(begun).toBeLessThan(10);
    },
  );
});

test("a list ends with the page that reaches the wanted number of objects", async () => {
  const limits: (string | null)[] = [];
  await withServer(
    ({ query, json }) => {
      limits.push(query.get("limit"));
      const at = Number(query.get("continue") ?? 0);
      json({ metadata: { resourceVersion: "7", continue: String(at + 1) }, items: [configMap(`n${at}`)] });
    },
    async (client) => {
      expect((await client.list(CONFIG_MAP, { maxItems: 2 })).items).toHaveLength(2);
      expect(limits).toEqual(["2", "1"]);
    },
  );
});

test("pages have few objects at first, then as many as their sizes allow, and a list ends at its bytes", async () => {
  const large = { data: { text: "x".repeat(256 * 1024) } };
  let inLargest = 0;
  await withServer(
    ({ query, json }) => {
      const at = Number(query.get("continue") ?? 0);
      const count = Math.min(Number(query.get("limit")), 50 - at);
      inLargest = Math.max(inLargest, count);
      const items = Array.from({ length: count }, (_, index) => ({ ...configMap(`n${at + index}`), ...large }));
      json({ metadata: { resourceVersion: "7", continue: at + count < 50 ? String(at + count) : "" }, items });
    },
    async (client) => {
      let arrived = 0;
      const transform = () => (object: LiveObject) => {
        arrived++;
        return { apiVersion: "v1", kind: "ConfigMap", metadata: object.metadata };
      };
      const { items } = await client.list(CONFIG_MAP, { transform });
      expect([items.length, arrived, inLargest]).toEqual([50, 50, 20]);
      expect(items.every((item) => item["data"] === undefined)).toBe(true);
      const some = await client.list(CONFIG_MAP, { maxBytes: 6 * 1024 * 1024 });
      expect(some.items.length).toBeLessThan(40);
      expect(some.bytes).toBeGreaterThan(6 * 1024 * 1024);
    },
  );
});

test("a watch yields its lines, however chunks divide them", async () => {
  const lines = ["ADDED", "MODIFIED", "BOOKMARK", "DELETED"].map(
    (type) => `${JSON.stringify({ type, object: configMap("ä") })}\n`,
  );
  await withServer(
    async ({ response }) => {
      response.writeHead(200);
      const bytes = Buffer.from(lines.join(""));
      for (let at = 0; at < bytes.length; at += 7) {
        response.write(bytes.subarray(at, at + 7));
        await new Promise(setImmediate);
      }
      response.end();
    },
    async (client) => {
      const events: WatchEvent[] = [];
      for await (const event of client.watch(CONFIG_MAP, { resourceVersion: "1" })) events.push(event);
      expect(events.map(({ type, object }) => [type, object.metadata.name])).toEqual(
        ["ADDED", "MODIFIED", "BOOKMARK", "DELETED"].map((type) => [type, "ä"]),
      );
    },
  );
});

test("410 of a watch is Expired, as a response and as an event", async () => {
  await withServer(
    ({ query, status, response }) => {
      if (query.get("resourceVersion") === "1") return status(410, "Expired");
      response.end(`${JSON.stringify({ type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired" } })}\n`);
    },
    async (client) => {
      const watch = async (resourceVersion: string): Promise<void> => {
        for await (const _ of client.watch(CONFIG_MAP, { resourceVersion }));
      };
      expect(await codeOf(watch("1"))).toBe("Expired");
      expect(await codeOf(watch("2"))).toBe("Expired");
    },
  );
});

test("a watch without events, not even bookmarks, ends", async () => {
  await withServer(
    ({ response }) => {
      response.writeHead(200).write("\n");
    },
    async (client) => {
      for await (const _ of client.watch(CONFIG_MAP, { resourceVersion: "1" }));
    },
    { client: { watchIdleMs: 50 } },
  );
});

test("outcomes are reported with verb, kind, status and retries", async () => {
  let times = 0;
  const outcomes: unknown[] = [];
  await withServer(
    ({ json, status }) => (times++ === 0 ? status(503, "Unavailable", {}, { "retry-after": "1" }) : json(configMap())),
    async (client) => {
      await client.create(configMap());
      expect(outcomes).toMatchObject([
        { verb: "discover", status: 200 },
        { verb: "create", resource: "configmaps", status: 200, retries: 1 },
      ]);
    },
    { client: { onRequest: (outcome) => outcomes.push(outcome) } },
  );
});

test("metadataOnly asks for metadata alone, and drops the rest if the server sends whole objects", async () => {
  const accepted: unknown[] = [];
  await withServer(
    ({ headers, query, json, response }) => {
      accepted.push(headers["accept"]);
      const { metadata } = configMap();
      if (!query.has("watch")) {
        json({ metadata: { resourceVersion: "7" }, items: [{ ...configMap(), data: { a: "b" } }] });
        return;
      }
      const object = { apiVersion: "meta.k8s.io/v1", kind: "PartialObjectMetadata", metadata };
      response.end(`${JSON.stringify({ type: "ADDED", object })}\n`);
    },
    async (client) => {
      const { items } = await client.list(CONFIG_MAP, { metadataOnly: true });
      expect(items).toEqual([configMap()]);
      for await (const { object } of client.watch(CONFIG_MAP, { resourceVersion: "1", metadataOnly: true }))
        expect(object).toEqual(configMap());
    },
  );
  expect(accepted).toEqual(
    ["PartialObjectMetadataList", "PartialObjectMetadata"].map(
      (kind) => `application/json;as=${kind};g=meta.k8s.io;v=v1,application/json`,
    ),
  );
});

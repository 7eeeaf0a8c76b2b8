import { expect, test } from "vitest";
import { type Exchange, fakeApiServer, type Handler } from "../../test-support/fake-api-server.ts";
import { isApiError } from "./api-error.ts";
import type { ConnectedClient, LiveObject, WatchEvent } from "./client.ts";
import { type ConnectOptions, connect } from "./connect.ts";

const CONFIG_MAP = { group: "", version: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true };
const REFERENCE = { apiVersion: "v1", kind: "ConfigMap", namespace: "default", name: "a" };

function configMap(name = "a", more: object = {}): LiveObject {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace: "default", uid: `uid-${name}`, resourceVersion: "1" },
    ...more,
  } as LiveObject;
}

async function withServer(
  handle: Handler,
  use: (client: ConnectedClient, server: Awaited<ReturnType<typeof fakeApiServer>>) => Promise<void>,
  options: Parameters<typeof fakeApiServer>[1] & { client?: Partial<ConnectOptions> } = {},
): Promise<void> {
  await using server = await fakeApiServer(handle, options);
  const client = await connect({ access: server.access, fieldManager: "test", ...options.client });
  try {
    await use(client, server);
  } finally {
    await client.close();
  }
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
    return "none";
  } catch (error) {
    return isApiError(error) ? error.code : String(error);
  }
}

test.each(["h2", "https", "http"] as const)("objects are read and written over %s", async (protocol) => {
  const seen: Exchange[] = [];
  await withServer(
    (exchange) => {
      seen.push(exchange);
      exchange.json(configMap());
    },
    async (client) => {
      expect((await client.get(REFERENCE)).metadata.uid).toBe("uid-a");
      await client.apply({ ...configMap(), data: { b: "c" } } as never);
      const [get, apply] = seen;
      expect(get?.path).toBe("/api/v1/namespaces/default/configmaps/a");
      expect(get?.headers["authorization"]).toBe("Bearer test");
      expect(get?.headers["user-agent"]).toBe("xfn");
      expect(apply?.method).toBe("PATCH");
      expect(apply?.headers["content-type"]).toBe("application/apply-patch+yaml");
      expect(Object.fromEntries(apply?.query ?? [])).toEqual({
        fieldManager: "test",
        fieldValidation: "Ignore",
        force: "true",
      });
      expect(JSON.parse(apply?.body ?? "")).toMatchObject({ data: { b: "c" } });
    },
    { protocol },
  );
});

test("integers of 64 bits and a key __proto__ come and go exactly", async () => {
  let body = "";
  await withServer(
    (exchange) => {
      body = exchange.body;
      exchange.response.end(
        '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"big":9007199254740993,"__proto__":{"x":1}}',
      );
    },
    async (client) => {
      const object = await client.get(REFERENCE);
      expect((object as unknown as Record<string, unknown>)["big"]).toBe(9007199254740993n);
      await client.patch(REFERENCE, "merge", object as never);
      expect(body).toContain('"big":9007199254740993');
      expect(body).toContain('"__proto__":{"x":1}');
    },
  );
});

test("many requests share one session", async () => {
  await withServer(
    (exchange) => exchange.json(configMap()),
    async (client, server) => {
      await Promise.all(Array.from({ length: 50 }, () => client.get(REFERENCE)));
      expect(server.sessions()).toBe(1);
      expect(server.requests.filter((request) => request === "GET /api/v1")).toHaveLength(1);
    },
  );
});

test("where a session has no room, another is opened: watches never keep requests waiting", async () => {
  await withServer(
    (exchange) => {
      if (exchange.query.has("watch")) exchange.response.writeHead(200).write("\n");
      else exchange.json(configMap());
    },
    async (client, server) => {
      await client.get(REFERENCE);
      const stop = new AbortController();
      const watches = Array.from({ length: 5 }, async () => {
        for await (const _ of client.watch(CONFIG_MAP, { resourceVersion: "1", signal: stop.signal }));
      });
      await expect
        .poll(() => server.requests.filter((request) => request.endsWith("/configmaps")).length, { timeout: 10_000 })
        .toBe(5);
      await client.get(REFERENCE);
      expect(server.sessions()).toBeGreaterThan(1);
      stop.abort();
      expect(await Promise.all(watches.map(codeOf))).toEqual(Array.from({ length: 5 }, () => "Aborted"));
    },
    { maxStreams: 2 },
  );
});

test("after a GOAWAY requests go over a new session, and those that ran are answered", async () => {
  let held: Exchange | undefined;
  await withServer(
    (exchange) => {
      if (exchange.path.endsWith("/held")) held = exchange;
      else exchange.json(configMap());
    },
    async (client, server) => {
      const running = client.get({ ...REFERENCE, name: "held" });
      await expect.poll(() => held).toBeDefined();
      held?.session?.goaway(0);
      await expect
        .poll(async () => {
          await client.get(REFERENCE);
          return server.sessions();
        })
        .toBe(2);
      held?.json(configMap("held"));
      expect((await running).metadata.name).toBe("held");
    },
  );
});

test("a connection that breaks during a read is made again, and the read repeated", async () => {
  let times = 0;
  await withServer(
    (exchange) => {
      if (times++ === 0) exchange.session?.destroy();
      else exchange.json(configMap());
    },
    async (client) => {
      expect((await client.get(REFERENCE)).metadata.name).toBe("a");
      expect(times).toBe(2);
    },
  );
});

test("a write that may have happened is not repeated", async () => {
  let times = 0;
  await withServer(
    (exchange) => {
      times++;
      exchange.session?.destroy();
    },
    async (client) => {
      expect(await codeOf(client.create(configMap()))).toBe("Unreachable");
      expect(times).toBe(1);
    },
  );
});

test("a write that the server turned away is repeated after the time that it asked for", async () => {
  let times = 0;
  await withServer(
    (exchange) => {
      times++;
      if (times === 1) exchange.status(429, "TooManyRequests", {}, { "retry-after": "1" });
      else if (times === 2) exchange.response.stream.close(7);
      else exchange.json(configMap(), 201);
    },
    async (client) => {
      expect((await client.create(configMap())).metadata.name).toBe("a");
      expect(times).toBe(3);
    },
  );
});

test("a server that is gone is Unreachable, and found again when it is back", async () => {
  const first = await fakeApiServer((exchange) => exchange.json(configMap()));
  const client = await connect({ access: first.access, fieldManager: "test" });
  await client.get(REFERENCE);
  await first[Symbol.asyncDispose]();
  // Until the client has seen the connection end, a write may have happened.
  await expect.poll(() => codeOf(client.create(configMap()))).toBe("Unreachable");
  const create = codeOf(client.create(configMap()));
  await using _ = await fakeApiServer((exchange) => exchange.json(configMap()), { port: first.port });
  // Refused connections did nothing: they are tried again, even for writes.
  expect(await create).toBe("none");
  await client.close();
});

test.each([
  [404, "NotFound", { details: { name: "a", kind: "configmaps" } }, "NotFound"],
  [404, "NotFound", { message: "the server could not find the requested resource", details: {} }, "KindNotServed"],
  [409, "AlreadyExists", {}, "AlreadyExists"],
  [409, "Conflict", {}, "Conflict"],
  [400, "BadRequest", {}, "Invalid"],
  [422, "Invalid", {}, "Invalid"],
  [413, "RequestEntityTooLarge", {}, "Invalid"],
  [401, "Unauthorized", {}, "Unauthorized"],
  [403, "Forbidden", {}, "Forbidden"],
  [410, "Expired", {}, "Expired"],
  [500, "InternalError", {}, "ServerError"],
  [504, "Timeout", {}, "Timeout"],
])("status %i %s of a write is the error %s", async (status, reason, more, code) => {
  await withServer(
    (exchange) => exchange.status(status, reason, more),
    async (client) => expect(await codeOf(client.create(configMap()))).toBe(code),
  );
});

test("an apply that the schema does not have is Invalid, though the server says 500", async () => {
  await withServer(
    (exchange) => exchange.json({ kind: "Status", code: 500, message: "failed to create typed patch object" }, 500),
    async (client) => expect(await codeOf(client.apply(configMap()))).toBe("Invalid"),
  );
});

test("errors say what was asked and what the server said of which field", async () => {
  await withServer(
    (exchange) =>
      exchange.status(422, "Invalid", {
        message: "spec.size is wrong",
        details: { causes: [{ field: "spec.size", message: "must be small", reason: "FieldValueInvalid" }] },
      }),
    async (client) => {
      const error = await client.create(configMap()).catch((caught: unknown) => caught);
      expect(error).toMatchObject({
        message: "create ConfigMap default/a: spec.size is wrong",
        causes: [{ field: "spec.size", message: "must be small" }],
        status: 422,
        reason: "Invalid",
        retryable: false,
      });
    },
  );
});

test("a 401 fetches new credentials once", async () => {
  let token = "old";
  const tokens: unknown[] = [];
  await withServer(
    (exchange) => {
      tokens.push(exchange.headers["authorization"]);
      if (exchange.headers["authorization"] === "Bearer new") exchange.json(configMap());
      else exchange.status(401, "Unauthorized");
    },
    async (client) => {
      await client.create(configMap());
      expect(tokens).toEqual(["Bearer old", "Bearer new"]);
    },
    {
      headers: () => ({ authorization: `Bearer ${token}` }),
      refresh: async () => {
        token = "new";
        return true;
      },
    },
  );
});

test("many that are refused at once fetch new credentials once, and all go on with them", async () => {
  let token = "old";
  let refreshes = 0;
  await withServer(
    (exchange) => {
      if (exchange.headers["authorization"] === "Bearer new") exchange.json(configMap());
      else exchange.status(401, "Unauthorized");
    },
    async (client, server) => {
      await client.kind("v1", "ConfigMap");
      await Promise.all(Array.from({ length: 20 }, () => client.create(configMap())));
      expect(refreshes).toBe(1);
      // Wrong for good: there is nothing better to be had.
      token = "wrong";
      const before = server.requests.length;
      expect(await codeOf(client.create(configMap()))).toBe("Unauthorized");
      expect(server.requests.length).toBe(before + 1);
      expect(refreshes).toBe(1);
    },
    {
      headers: () => ({ authorization: `Bearer ${token}` }),
      refresh: async () => {
        refreshes++;
        await new Promise((resolve) => setTimeout(resolve, 20));
        const changed = token !== "new";
        token = "new";
        return changed;
      },
    },
  );
});

test("credentials that cannot be had fail the requests that want them, and nothing else", async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => void unhandled.push(reason);
  process.on("unhandledRejection", note);
  try {
    await withServer(
      (exchange) => exchange.json({}),
      async (client) => {
        // The second has failed to get them before it may go.
        const both = [client.raw("POST", "/a"), client.raw("POST", "/b")];
        expect(await Promise.all(both.map(codeOf))).toEqual(["Unreachable", "Unreachable"]);
        await new Promise((resolve) => setImmediate(resolve));
        expect(unhandled).toEqual([]);
      },
      {
        headers: () => Promise.reject(new Error("the program gave no credentials")),
        client: { rateLimit: { perSecond: 20, burst: 1 } },
      },
    );
  } finally {
    process.off("unhandledRejection", note);
  }
});

test("a list is all pages of one moment", async () => {
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

test("a list whose continue token has expired is fetched in one piece", async () => {
  await withServer(
    ({ query, json, status }) => {
      if (query.has("continue")) status(410, "Expired");
      else if (query.has("limit"))
        json({ metadata: { resourceVersion: "1", continue: "x" }, items: [configMap("old")] });
      else json({ metadata: { resourceVersion: "9" }, items: [configMap("a"), configMap("b")] });
    },
    async (client) => {
      const { items, resourceVersion } = await client.list(CONFIG_MAP);
      expect(items.map(({ metadata }) => metadata.name)).toEqual(["a", "b"]);
      expect(resourceVersion).toBe("9");
    },
  );
});

test("a watch yields its lines, however they are cut", async () => {
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

test("410 in a watch is Expired, as an answer and as an event", async () => {
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

test("a watch in which nothing happens, not even bookmarks, ends", async () => {
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

test("names that would be another path are refused before anything is sent", async () => {
  await withServer(
    ({ json }) => json(configMap()),
    async (client, server) => {
      for (const name of ["..", ".", "a/status", "a%2fstatus", ""]) {
        expect(await codeOf(client.get({ ...REFERENCE, name }))).toBe("Invalid");
        expect(await codeOf(client.delete({ ...REFERENCE, namespace: name }))).toBe("Invalid");
        expect(await codeOf(client.get({ ...REFERENCE, apiVersion: `${name}/../v1` }))).toBe("Invalid");
      }
      expect(server.requests).toEqual(["GET /api/v1"]);
    },
  );
});

test("a kind that is not served is not asked for again and again", async () => {
  await withServer(
    ({ status }) => status(404, "NotFound"),
    async (client, server) => {
      for (let i = 0; i < 5; i++) expect(await codeOf(client.kind("x.example.org/v1", "X"))).toBe("KindNotServed");
      expect(server.requests).toEqual(["GET /apis/x.example.org/v1"]);
      client.forgetKinds();
      expect(await codeOf(client.kind("x.example.org/v1", "X"))).toBe("KindNotServed");
      expect(server.requests).toHaveLength(2);
    },
  );
});

test("a delete says what it is to be sure of", async () => {
  const bodies: unknown[] = [];
  await withServer(
    ({ body, json }) => {
      bodies.push(JSON.parse(body));
      json(bodies.length === 1 ? { kind: "Status", status: "Success" } : configMap());
    },
    async (client) => {
      const preconditions = { uid: "u", resourceVersion: "3" };
      expect(await client.delete(REFERENCE, { preconditions, propagationPolicy: "Foreground" })).toBeUndefined();
      expect((await client.delete(REFERENCE))?.metadata.name).toBe("a");
      expect(bodies[0]).toMatchObject({ preconditions, propagationPolicy: "Foreground" });
    },
  );
});

test("a request that is given up is Aborted, before and after it was sent", async () => {
  await withServer(
    () => undefined,
    async (client, server) => {
      await client.kind("v1", "ConfigMap");
      expect(await codeOf(client.get(REFERENCE, { signal: AbortSignal.abort() }))).toBe("Aborted");
      const stop = new AbortController();
      const get = codeOf(client.get(REFERENCE, { signal: stop.signal }));
      await expect.poll(() => server.requests.length).toBe(2);
      stop.abort();
      expect(await get).toBe("Aborted");
    },
  );
});

test("an answer that does not come is a Timeout", async () => {
  await withServer(
    () => undefined,
    async (client) => expect(await codeOf(client.create(configMap()))).toBe("Timeout"),
    { client: { timeoutMs: 100 } },
  );
});

test("outcomes are told with verb, kind, status and retries", async () => {
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

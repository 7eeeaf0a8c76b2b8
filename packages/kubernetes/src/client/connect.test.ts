import { expect, test } from "vitest";
import { CONFIG_MAP, codeOf, configMap, REFERENCE, withServer } from "../../testing/connected-client.ts";
import { type Exchange } from "../../testing/fake-api-server.ts";
import { impersonatingClient } from "./impersonating-client.ts";

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

test("64-bit integers and a key __proto__ survive in both directions", async () => {
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

test("a second session is opened when watches fill the first, so that requests never wait", async () => {
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
      await expect.poll(() => server.requests.filter((request) => request.endsWith("/configmaps")).length).toBe(5);
      await client.get(REFERENCE);
      expect(server.sessions()).toBeGreaterThan(1);
      stop.abort();
      expect(await Promise.all(watches.map(codeOf))).toEqual(Array.from({ length: 5 }, () => "Aborted"));
    },
    { maxStreams: 2 },
  );
});

test("over HTTP/1.1, any number of watches leaves connections for requests", async () => {
  const count = 300;
  await withServer(
    (exchange) => {
      if (exchange.query.has("watch")) exchange.response.writeHead(200).write("\n");
      else exchange.json(configMap());
    },
    async (client, server) => {
      const stop = new AbortController();
      const watches = Array.from({ length: count }, async () => {
        for await (const _ of client.watch(CONFIG_MAP, { resourceVersion: "1", signal: stop.signal }));
      });
      const opened = (): number => server.requests.filter((request) => request.endsWith("/configmaps")).length;
      await expect.poll(opened).toBe(count);
      await client.get(REFERENCE);
      stop.abort();
      expect(new Set(await Promise.all(watches.map(codeOf)))).toEqual(new Set(["Aborted"]));
    },
    { protocol: "http" },
  );
});

test("after GOAWAY, new requests use a new session, and running ones are answered", async () => {
  let slow: Exchange | undefined;
  await withServer(
    (exchange) => {
      if (exchange.path.endsWith("/slow")) slow = exchange;
      else exchange.json(configMap());
    },
    async (client, server) => {
      const running = client.get({ ...REFERENCE, name: "slow" });
      await expect.poll(() => slow).toBeDefined();
      slow?.session?.goaway(0);
      await expect
        .poll(async () => {
          await client.get(REFERENCE);
          return server.sessions();
        })
        .toBe(2);
      slow?.json(configMap("slow"));
      expect((await running).metadata.name).toBe("slow");
    },
  );
});

test("names that would change the path are rejected before a request", async () => {
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

test("an unknown kind is looked up at most twice a second", async () => {
  await withServer(
    ({ status }) => status(404, "NotFound"),
    async (client, server) => {
      for (let i = 0; i < 5; i++) expect(await codeOf(client.kind("x.example.org/v1", "X"))).toBe("KindNotServed");
      expect(server.requests).toEqual(["GET /apis/x.example.org/v1"]);
      client.forgetKinds();
      expect(await codeOf(client.kind("x.example.org/v1", "X"))).toBe("KindNotServed");
      expect(server.requests).toHaveLength(2);
      client.forgetKinds("other.example.org/v1");
      expect(await codeOf(client.kind("x.example.org/v1", "X"))).toBe("KindNotServed");
      expect(server.requests).toHaveLength(2);
      client.forgetKinds("x.example.org/v1");
      expect(await codeOf(client.kind("x.example.org/v1", "X"))).toBe("KindNotServed");
      expect(server.requests).toHaveLength(3);
    },
  );
});

test("a delete sends its preconditions, and whether it is a dry run", async () => {
  const bodies: unknown[] = [];
  await withServer(
    ({ body, json }) => {
      bodies.push(JSON.parse(body));
      json(bodies.length === 1 ? { kind: "Status", status: "Success" } : configMap());
    },
    async (client) => {
      const preconditions = { uid: "u", resourceVersion: "3" };
      expect(await client.delete(REFERENCE, { preconditions, propagationPolicy: "Foreground" })).toBeUndefined();
      expect((await client.delete(REFERENCE, { dryRun: true }))?.metadata.name).toBe("a");
      expect(bodies[1]).toMatchObject({ dryRun: ["All"] });
      expect(bodies[0]).toMatchObject({ preconditions, propagationPolicy: "Foreground" });
    },
  );
});

test("subresources and patches of each type have their own path and type", async () => {
  const asked: string[] = [];
  await withServer(
    ({ method, path, headers, json }) => {
      asked.push(`${method} ${path} ${String(headers["content-type"] ?? "")}`.trim());
      json(configMap());
    },
    async (client) => {
      await client.get(REFERENCE, { subresource: "scale" });
      await client.patch(REFERENCE, "merge", { spec: { replicas: 2 } }, { subresource: "scale" });
      await client.patch(REFERENCE, "json", []);
      await client.patch(REFERENCE, "strategic", {});
      expect(await codeOf(client.get(REFERENCE, { subresource: "../b" }))).toBe("Invalid");
    },
  );
  const path = "/api/v1/namespaces/default/configmaps/a";
  expect(asked).toEqual([
    `GET ${path}/scale`,
    `PATCH ${path}/scale application/merge-patch+json`,
    `PATCH ${path} application/json-patch+json`,
    `PATCH ${path} application/strategic-merge-patch+json`,
  ]);
});

test.each(["h2", "http"] as const)("a header with several values is sent once for each (%s)", async (protocol) => {
  let groups: unknown;
  await withServer(
    ({ headers, json }) => {
      groups = headers["impersonate-group"];
      json(configMap());
    },
    async (client) => void (await client.get(REFERENCE)),
    { protocol, headers: () => ({ "impersonate-group": ["dev", "ops"] }) },
  );
  expect(groups).toBe("dev, ops");
});

test("a request as another user has that user's rights alone, and none of the own user's groups", async () => {
  const asked: unknown[] = [];
  await withServer(
    ({ headers, json }) => {
      asked.push([headers["impersonate-user"], headers["impersonate-group"], headers["authorization"]]);
      json(configMap());
    },
    async (client) => {
      await client.get(REFERENCE);
      await impersonatingClient(client, "system:serviceaccount:shop:composer").get(REFERENCE);
    },
    { headers: () => ({ authorization: "Bearer t", "impersonate-user": "ada", "impersonate-group": ["dev"] }) },
  );
  expect(asked).toEqual([
    ["ada", "dev", "Bearer t"],
    ["system:serviceaccount:shop:composer", undefined, "Bearer t"],
  ]);
});

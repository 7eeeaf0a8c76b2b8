import { expect, test } from "vitest";
import { codeOf, configMap, REFERENCE, withServer } from "../../testing/connected-client.ts";
import { fakeApiServer } from "../../testing/fake-api-server.ts";
import { connect } from "./connect.ts";

test("a read is retried after its connection breaks", async () => {
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

test("a write that may have happened is not retried", async () => {
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

test("a write that the server refused is retried after the time that it asked for", async () => {
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

test("a stopped server is Unreachable, and the client reconnects when it is back", async () => {
  const first = await fakeApiServer((exchange) => exchange.json(configMap()));
  const client = await connect({ access: first.access, fieldManager: "test" });
  await client.get(REFERENCE);
  await first[Symbol.asyncDispose]();
  // Until the client notices the end of the connection, a write may have happened.
  await expect.poll(() => codeOf(client.create(configMap()))).toBe("Unreachable");
  const create = codeOf(client.create(configMap()));
  await using _ = await fakeApiServer((exchange) => exchange.json(configMap()), { port: first.port });
  // After a refused connection the server did nothing, so even writes are retried.
  expect(await create).toBe("none");
  await client.close();
});

test.each([
  [404, "NotFound", { details: { name: "a", kind: "configmaps" } }, "NotFound"],
  [404, "NotFound", { message: "the server could not find the requested resource", details: {} }, "KindNotServed"],
  [409, "AlreadyExists", {}, "AlreadyExists"],
  [409, "Conflict", {}, "Conflict"],
  [409, "Conflict", { message: 'admission webhook "a.b" denied the request: in use' }, "Denied"],
  [409, "the object is in use", { message: 'admission webhook "a.b" denied the request: in use' }, "Denied"],
  [400, "BadRequest", {}, "Invalid"],
  [422, "Invalid", {}, "Invalid"],
  [413, "RequestEntityTooLarge", {}, "Invalid"],
  [401, "Unauthorized", {}, "Unauthorized"],
  [403, "Forbidden", {}, "Forbidden"],
  [410, "Expired", {}, "Expired"],
  [500, "InternalError", {}, "ServerError"],
  [504, "Timeout", {}, "Timeout"],
])("a write with the status %i %s fails with %s", async (status, reason, more, code) => {
  await withServer(
    (exchange) => exchange.status(status, reason, more),
    async (client) => expect(await codeOf(client.create(configMap()))).toBe(code),
  );
});

test("an apply with an unknown field is Invalid, although the server answers 500", async () => {
  await withServer(
    (exchange) => exchange.json({ kind: "Status", code: 500, message: "failed to create typed patch object" }, 500),
    async (client) => expect(await codeOf(client.apply(configMap()))).toBe("Invalid"),
  );
});

test("errors contain the request and the server's statements about fields", async () => {
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

test("concurrent 401s fetch new credentials once, and all requests continue with them", async () => {
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
      // There are no better credentials.
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

test("unavailable credentials fail only the requests that need them", async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => void unhandled.push(reason);
  process.on("unhandledRejection", note);
  try {
    await withServer(
      (exchange) => exchange.json({}),
      async (client) => {
        // The credentials of the second request fail before the rate limit lets it pass.
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

test("an aborted request fails with Aborted, before and after it was sent", async () => {
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

test("a missing response is a Timeout", async () => {
  await withServer(
    () => undefined,
    async (client) => expect(await codeOf(client.create(configMap()))).toBe("Timeout"),
    { client: { timeoutMs: 100 } },
  );
});

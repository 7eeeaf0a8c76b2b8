import { describe, expect, test, vi } from "vitest";
import { blobOf, blobUrl, image, pull, refused, registry, store, usePulls } from "../../testing/fake-pulls.ts";
import { fakeRegistry } from "../../testing/fake-registry.ts";

usePulls();

describe("registries that fail", () => {
  test("unknown image", async () => {
    registry.manifests.clear();
    const error = await refused("NotFound");
    expect(error.message).toContain("MANIFEST_UNKNOWN");
    expect(error).toMatchObject({ retryable: false });
  });

  test.each([
    [500, true],
    [503, true],
    [429, true],
    [418, false],
  ])("status %d, retryable %s", async (status, retryable) => {
    registry.fault = (_, response) => Boolean(response.writeHead(status).end());
    expect(await refused("RegistryUnavailable")).toMatchObject({ retryable });
  });

  test("an unreachable host", async () => {
    const gone = await fakeRegistry();
    await gone[Symbol.asyncDispose]();
    await expect(store.image(`${gone.host}/fn`, { insecureRegistries: [gone.host] })).rejects.toMatchObject({
      code: "RegistryUnavailable",
      retryable: true,
    });
  });

  const port = (): string => registry.host.split(":")[1] ?? "";

  test("a registry on this machine may use http", async () => {
    await expect(store.image(`${registry.host}/fn`)).resolves.toBeDefined();
    await expect(store.image(`localhost:${port()}/fn`)).resolves.toBeDefined();
  });

  test.each([
    ["any other registry", { host: "0.0.0.0" }],
    ["without that permission, a registry on this machine", { host: "127.0.0.1", httpOnLoopback: false }],
  ])(
    "%s must use https unless it is configured as insecure, and the error says so",
    async (_, { host, ...options }) => {
      const error = await store.image(`${host}:${port()}/fn`, options).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: "RegistryUnavailable", retryable: false });
      expect((error as Error).message).toContain("insecure");
      expect(registry.requests).toEqual([]);
    },
  );

  test.each([
    ["the manifest's headers", "/manifests/", false],
    ["the manifest's body", "/manifests/", true],
    ["a layer's headers", "/blobs/", false],
  ])("a registry that stalls before %s", async (_, path, headers) => {
    registry.fault = (request, response) => {
      if (request.url?.includes(path) !== true) return false;
      if (headers) response.writeHead(200, { "content-length": 100 }).write("x");
      return true;
    };
    await refused("RegistryUnavailable", { stallTimeoutMs: 300 });
  });

  test("a layer that arrives too slowly fails", async () => {
    const timers: NodeJS.Timeout[] = [];
    registry.fault = (request, response) => {
      if (request.url !== blobUrl(0)) return false;
      const bytes = image.blobs.get(blobOf(0)) as Buffer;
      response.writeHead(200, { "content-length": bytes.length });
      let at = 0;
      timers.push(setInterval(() => response.write(bytes.subarray(at, ++at)), 20));
      return true;
    };
    expect(await refused("RegistryUnavailable", { stallTimeoutMs: 300 })).toMatchObject({ retryable: true });
    timers.forEach(clearInterval);
  });

  test("a manifest that never ends fails, at any speed", async () => {
    const timers: NodeJS.Timeout[] = [];
    registry.fault = (request, response) => {
      if (request.url?.includes("/manifests/") !== true) return false;
      response.writeHead(200);
      // Far above the minimum speed, and far below the maximum size.
      timers.push(setInterval(() => response.write(Buffer.alloc(1000, " ")), 20));
      return true;
    };
    expect(await refused("RegistryUnavailable", { stallTimeoutMs: 300 })).toMatchObject({ retryable: true });
    timers.forEach(clearInterval);
  });

  test("an abort ends a pull and leaves nothing", async () => {
    const controller = new AbortController();
    registry.fault = (request, response) => {
      if (request.url !== blobUrl(0)) return false;
      response.writeHead(200).write("x");
      controller.abort(new Error("enough"));
      return true;
    };
    await refused("Aborted", { signal: controller.signal });
  });

  test("an abort does not stop another caller's pull of the same layer", async () => {
    const controller = new AbortController();
    const bytes = image.blobs.get(blobOf(0)) as Buffer;
    let release = (): void => {};
    registry.fault = (request, response) => {
      if (request.url !== blobUrl(0)) return false;
      response.writeHead(200, { "content-length": bytes.length }).write(bytes.subarray(0, 1));
      release = () => response.end(bytes.subarray(1));
      return true;
    };
    const first = pull({ signal: controller.signal });
    await vi.waitFor(() => expect(registry.requests.some(({ line }) => line.endsWith(blobUrl(0)))).toBe(true), 30_000);
    const second = pull();
    await vi.waitFor(
      () => expect(registry.requests.filter(({ line }) => line.includes("/manifests/"))).toHaveLength(2),
      30_000,
    );
    await new Promise((resolve) => setTimeout(resolve, 50));
    controller.abort();
    await expect(first).rejects.toMatchObject({ code: "Aborted" });
    release();
    expect((await second).digest).toBe(image.manifest.digest);
  });
});

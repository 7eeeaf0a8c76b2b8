import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type FakeRegistry, fakeRegistry } from "../../testing/fake-registry.ts";
import { type TestImage, testImage } from "../../testing/layout.ts";
import { type Sandbox, sandbox } from "../../testing/sandbox.ts";
import { file, tarball } from "../../testing/tarball.ts";
import type { Image, ImageOptions } from "../store/store.ts";
import { openStore } from "../transfer/open-store.ts";
import { retryAfter } from "./response-error.ts";

// Temporary failures of registries: what a pull survives, and when it fails.

let box: Sandbox;
let registry: FakeRegistry;
let image: TestImage;

beforeEach(async () => {
  box = sandbox();
  registry = await fakeRegistry();
  // A layer of about 300 kB that does not compress.
  const noise = Array.from({ length: 60_000 }, (_, i) => ((i * 2_654_435_761) >>> 0).toString(36)).join("");
  image = testImage([tarball([file("noise", noise)])]);
  registry.add(image);
});
afterEach(async () => {
  await registry[Symbol.asyncDispose]();
  box[Symbol.dispose]();
});

async function pull(options: ImageOptions = {}): Promise<Image> {
  const store = await openStore({ dir: box.store });
  return store.image(`${registry.host}/fn`, {
    insecureRegistries: [registry.host],
    stallTimeoutMs: 30_000,
    retry: { attempts: 3, baseDelayMs: 1 },
    ...options,
  });
}

const layer = (): { digest: string; size: number } => image.layers[0] as { digest: string; size: number };
const layerBytes = (): Buffer => image.blobs.get(layer().digest) as Buffer;
const isLayer = (url: string | undefined): boolean => url?.endsWith(layer().digest) === true;

describe("temporary failures are retried", () => {
  test.each([408, 429, 500, 502, 503, 504])("a response %d", async (status) => {
    const failed = new Set<string>();
    registry.fault = (request, response) => {
      if (failed.has(request.url ?? "")) return false;
      failed.add(request.url ?? "");
      return Boolean(response.writeHead(status).end());
    };
    expect((await pull()).digest).toBe(image.manifest.digest);
    expect(failed.size).toBe(3);
  });

  test("a connection that is reset", async () => {
    const failed = new Set<string>();
    registry.fault = (request) => {
      if (failed.has(request.url ?? "")) return false;
      failed.add(request.url ?? "");
      request.socket.destroy();
      return true;
    };
    expect((await pull()).digest).toBe(image.manifest.digest);
  });

  test("a failing token server", async () => {
    await using tokens = await fakeRegistry();
    registry.fault = (request, response) => {
      if (request.headers.authorization === "Bearer t") return false;
      const challenge = `Bearer realm="http://${tokens.host}/token"`;
      return Boolean(response.writeHead(401, { "www-authenticate": challenge }).end());
    };
    let asked = 0;
    tokens.fault = (_, response) => {
      asked += 1;
      return Boolean(asked === 1 ? response.writeHead(503).end() : response.end('{"token":"t"}'));
    };
    expect((await pull()).digest).toBe(image.manifest.digest);
  });

  test("only a limited number of times", async () => {
    registry.fault = (_, response) => Boolean(response.writeHead(503).end());
    await expect(pull()).rejects.toMatchObject({ code: "RegistryUnavailable", retryable: true });
    expect(registry.requests).toHaveLength(3);
  });

  test.each([400, 403, 404])("but a response %d is final", async (status) => {
    registry.fault = (_, response) => Boolean(response.writeHead(status).end());
    await expect(pull()).rejects.toMatchObject({ retryable: false });
    expect(registry.requests).toHaveLength(1);
  });

  test("not before the registry's Retry-After", async () => {
    const times: number[] = [];
    registry.fault = (_, response) => {
      times.push(performance.now());
      return times.length === 1 && Boolean(response.writeHead(429, { "retry-after": "1" }).end());
    };
    await pull();
    // Timers may fire up to a millisecond early.
    expect((times[1] as number) - (times[0] as number)).toBeGreaterThan(998);
  });

  test("a Retry-After of an hour fails, and the error contains it", async () => {
    registry.fault = (_, response) => {
      const body = '{"errors":[{"code":"TOOMANYREQUESTS","message":"slow down"}]}';
      return Boolean(response.writeHead(429, { "retry-after": "3600" }).end(body));
    };
    const expected = { retryable: true, registryCode: "TOOMANYREQUESTS", retryAfterMs: 3_600_000 };
    await expect(pull()).rejects.toMatchObject({ code: "RegistryUnavailable", ...expected });
    expect(registry.requests).toHaveLength(1);
  });

  test("an abort ends the delay", async () => {
    const controller = new AbortController();
    registry.fault = (_, response) => {
      setTimeout(() => controller.abort(), 10);
      return Boolean(response.writeHead(503, { "retry-after": "50" }).end());
    };
    await expect(pull({ signal: controller.signal })).rejects.toMatchObject({ code: "Aborted" });
  });

  test.each([
    ["7", 7000],
    ["0", undefined],
    ["soon", undefined],
    [["1", "2"], undefined],
    [undefined, undefined],
    ["999999999", 604_800_000],
  ])("Retry-After %j is %j ms", (header, ms) => {
    expect(retryAfter(header)).toBe(ms);
  });

  test("Retry-After may be a date", () => {
    const ms = retryAfter(new Date(Date.now() + 5000).toUTCString());
    expect(ms).toBeGreaterThan(3000);
    expect(ms).toBeLessThanOrEqual(5000);
  });
});

test("an error contains the registry's code", async () => {
  registry.manifests.clear();
  await expect(pull()).rejects.toMatchObject({ code: "NotFound", registryCode: "MANIFEST_UNKNOWN" });
});

describe("a layer whose connection breaks", () => {
  /** Breaks the first transfers of the layer after a number of bytes each. */
  function breakAfter(...counts: number[]): void {
    registry.fault = (request, response) => {
      const count = isLayer(request.url) ? counts.shift() : undefined;
      if (count === undefined) return false;
      const bytes = layerBytes();
      const from = Number(/\d+/.exec(request.headers.range ?? "")?.[0] ?? 0);
      if (from > 0) response.writeHead(206, { "content-range": `bytes ${from}-${bytes.length - 1}/${bytes.length}` });
      else response.writeHead(200, { "content-length": bytes.length });
      response.write(bytes.subarray(from, from + count), () => setTimeout(() => response.destroy(), 20));
      return true;
    };
  }
  const ranges = (): (string | undefined)[] =>
    registry.requests.filter(({ line }) => isLayer(line)).map(({ range }) => range);

  test("resumes at the break", async () => {
    breakAfter(100_000, 50_000);
    const { layers } = await pull();
    expect(layers).toHaveLength(1);
    const [first, second, third] = ranges();
    expect(first).toBeUndefined();
    expect(Number(second?.slice(6, -1))).toBeGreaterThan(0);
    expect(Number(third?.slice(6, -1))).toBeGreaterThan(Number(second?.slice(6, -1)));
  });

  test("is verified as a whole: a rest of other content is rejected", async () => {
    breakAfter(100_000);
    const inner = registry.fault;
    registry.fault = (request, response) => {
      if (isLayer(request.url) && request.headers.range !== undefined) {
        const bytes = layerBytes();
        const from = Number(/\d+/.exec(request.headers.range)?.[0]);
        response.writeHead(206, { "content-range": `bytes ${from}-${bytes.length - 1}/${bytes.length}` });
        return Boolean(response.end(Buffer.alloc(bytes.length - from, 7)));
      }
      return inner(request, response);
    };
    await expect(pull()).rejects.toMatchObject({ code: "DigestMismatch" });
    expect(box.leftovers()).toEqual([]);
  });

  test("is pulled again, and skipped to the break, without support for ranges", async () => {
    breakAfter(100_000);
    const inner = registry.fault;
    registry.fault = (request, response) => {
      if (isLayer(request.url) && request.headers.range !== undefined) return Boolean(response.end(layerBytes()));
      return inner(request, response);
    };
    expect((await pull()).digest).toBe(image.manifest.digest);
  });

  test("rejects another range than requested", async () => {
    breakAfter(100_000);
    const inner = registry.fault;
    registry.fault = (request, response) => {
      if (!isLayer(request.url) || request.headers.range === undefined) return inner(request, response);
      const bytes = layerBytes();
      response.writeHead(206, { "content-range": `bytes 200000-${bytes.length - 1}/${bytes.length}` });
      return Boolean(response.end(bytes.subarray(200_000)));
    };
    await expect(pull()).rejects.toMatchObject({ code: "RegistryUnavailable" });
  });

  test("fails without progress", async () => {
    breakAfter(100_000, 0, 0, 0, 0, 0, 0);
    await expect(pull()).rejects.toMatchObject({ code: "RegistryUnavailable", retryable: true });
    expect(ranges().length).toBeLessThanOrEqual(4);
  });

  test("has a wrong size if it ends too early without an error", async () => {
    registry.fault = (request, response) => {
      if (!isLayer(request.url)) return false;
      return Boolean(response.writeHead(200).end(layerBytes().subarray(0, 1000)));
    };
    await expect(pull()).rejects.toMatchObject({ code: "SizeMismatch" });
  });
});

import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { TestImage } from "./layout.ts";

/** Handles a request instead of the registry. Returns false to pass it on to the registry. */
export type Fault = (request: IncomingMessage, response: ServerResponse) => boolean | Promise<boolean>;

/** A registry in this process that injects faults. End-to-end tests use real ones. */
export interface FakeRegistry extends AsyncDisposable {
  /** `127.0.0.1:PORT` */
  readonly host: string;
  /** `METHOD PATH`, authorization and range of every request. */
  readonly requests: { line: string; authorization: string | undefined; range?: string }[];
  /** Serves the image, and its manifest under the tag. */
  add(image: TestImage, tag?: string): void;
  manifests: Map<string, { bytes: Buffer; mediaType: string }>;
  blobs: Map<string, Buffer>;
  fault: Fault;
}

export interface FakeRegistryOptions {
  readonly address?: string;
  /** Uses https with this certificate. */
  readonly tls?: { readonly key: string; readonly cert: string };
}

export async function fakeRegistry(options: FakeRegistryOptions | string = {}): Promise<FakeRegistry> {
  const { address = "127.0.0.1", tls } = typeof options === "string" ? { address: options } : options;
  const uploads = new Map<string, Buffer>();
  let sessions = 0;
  const registry: Omit<FakeRegistry, "host" | typeof Symbol.asyncDispose> = {
    requests: [],
    manifests: new Map(),
    blobs: new Map(),
    fault: () => false,
    add(image, tag = "latest") {
      for (const [digest, bytes] of image.blobs) registry.blobs.set(digest, bytes);
      const { digest, mediaType } = image.manifest;
      const bytes = image.blobs.get(digest) as Buffer;
      registry.manifests.set(tag, { bytes, mediaType });
      registry.manifests.set(digest, { bytes, mediaType });
    },
  };

  const read = (request: IncomingMessage, response: ServerResponse): void => {
    const [, kind, name = ""] = /\/v2\/.+\/(manifests|blobs)\/(.+)$/.exec(request.url ?? "") ?? [];
    const manifest = kind === "manifests" ? registry.manifests.get(name) : undefined;
    const blob = kind === "blobs" ? registry.blobs.get(name) : undefined;
    if (manifest !== undefined) response.setHeader("content-type", manifest.mediaType);
    const bytes = manifest?.bytes ?? blob;
    const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? "")?.[1] ?? 0);
    if (bytes === undefined) {
      response.writeHead(404, { "content-type": "application/json" });
      response.end('{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}');
    } else if (from > 0) {
      response.writeHead(206, { "content-range": `bytes ${from}-${bytes.length - 1}/${bytes.length}` });
      response.end(bytes.subarray(from));
    } else {
      response.writeHead(200, { "content-length": bytes.length });
      response.end(request.method === "HEAD" ? undefined : bytes);
    }
  };

  const write = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = Buffer.concat(await request.toArray());
    const url = new URL(request.url ?? "", "http://any");
    const session = url.pathname.split("/uploads/")[1] ?? "";
    const [repository] = url.pathname.split("/blobs/");
    const location = (id: string): string => `${repository}/blobs/uploads/${id}?_state=a%2Bb`;
    if (request.method === "POST") {
      const mount = url.searchParams.get("mount");
      if (mount !== null && registry.blobs.has(mount)) {
        response.writeHead(201, { location: `${repository}/blobs/${mount}` }).end();
        return;
      }
      sessions += 1;
      uploads.set(String(sessions), Buffer.alloc(0));
      response.writeHead(202, { location: location(String(sessions)) }).end();
      return;
    }
    if (url.pathname.includes("/manifests/")) {
      const name = url.pathname.split("/manifests/")[1] ?? "";
      const digest = sha256(body);
      const entry = { bytes: body, mediaType: String(request.headers["content-type"]) };
      registry.manifests.set(name, entry);
      registry.manifests.set(digest, entry);
      response.writeHead(201, { "docker-content-digest": digest }).end();
      return;
    }
    const all = Buffer.concat([uploads.get(session) ?? Buffer.alloc(0), body]);
    uploads.set(session, all);
    if (request.method === "PATCH") {
      response.writeHead(202, { location: location(session), range: `0-${all.length - 1}` }).end();
      return;
    }
    const digest = url.searchParams.get("digest") ?? "";
    if (sha256(all) !== digest || url.searchParams.get("_state") !== "a+b") {
      response.writeHead(400).end('{"errors":[{"code":"DIGEST_INVALID","message":"no"}]}');
      return;
    }
    registry.blobs.set(digest, all);
    response.writeHead(201, { "docker-content-digest": digest }).end();
  };

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { authorization, range } = request.headers;
    const line = `${request.method} ${request.url}`;
    registry.requests.push({ line, authorization, ...(range !== undefined && { range }) });
    if (await registry.fault(request, response)) return;
    const isStatus = request.method === "GET" && request.url?.includes("/uploads/") === true;
    if (isStatus) {
      const session = /\/uploads\/(\d+)/.exec(request.url ?? "")?.[1] ?? "";
      const { length } = uploads.get(session) ?? Buffer.alloc(0);
      response.writeHead(204, { range: `0-${Math.max(0, length - 1)}`, location: request.url ?? "" }).end();
    } else if (request.method === "GET" || request.method === "HEAD") read(request, response);
    else await write(request, response).catch(() => response.destroy());
  };
  const listener = (request: IncomingMessage, response: ServerResponse): void => void answer(request, response);
  const server = tls === undefined ? createServer(listener) : createSecureServer(tls, listener);
  await listen(server, address);
  const { port } = server.address() as AddressInfo;
  return Object.assign(registry, {
    host: `${address.includes(":") ? `[${address}]` : address}:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}

function sha256(bytes: Uint8Array): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

function listen(server: Server, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, address, resolve);
  });
}

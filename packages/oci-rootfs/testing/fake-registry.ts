import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestImage } from "./layout.ts";

/** Answers a request instead of the registry; false leaves it to the registry. */
export type Fault = (request: IncomingMessage, response: ServerResponse) => boolean | Promise<boolean>;

/** A registry in this process that only exists to misbehave; real ones are used in the end-to-end tests. */
export interface FakeRegistry extends AsyncDisposable {
  /** `127.0.0.1:PORT` */
  readonly host: string;
  /** `METHOD PATH` and, after a space, the authorization header of every request. */
  readonly requests: { line: string; authorization: string | undefined }[];
  /** Serves the image's contents, and its manifest under the tag. */
  add(image: TestImage, tag?: string): void;
  manifests: Map<string, { bytes: Buffer; mediaType: string }>;
  blobs: Map<string, Buffer>;
  fault: Fault;
}

export async function fakeRegistry(address = "127.0.0.1"): Promise<FakeRegistry> {
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
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    registry.requests.push({ line: `${request.method} ${request.url}`, authorization: request.headers.authorization });
    if (await registry.fault(request, response)) return;
    const [, kind, name = ""] = /\/v2\/.+\/(manifests|blobs)\/(.+)$/.exec(request.url ?? "") ?? [];
    const manifest = kind === "manifests" ? registry.manifests.get(name) : undefined;
    const blob = kind === "blobs" ? registry.blobs.get(name) : undefined;
    if (manifest !== undefined) response.setHeader("content-type", manifest.mediaType);
    const bytes = manifest?.bytes ?? blob;
    if (bytes === undefined) {
      response.writeHead(404, { "content-type": "application/json" });
      response.end('{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}');
    } else {
      response.end(bytes);
    }
  };
  const server = createServer((request, response) => void answer(request, response));
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

function listen(server: Server, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, address, resolve);
  });
}

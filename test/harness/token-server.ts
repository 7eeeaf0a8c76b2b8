import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type FaultyRegistry, faultyRegistry } from "./registry-faults.ts";

/** The user of the token server. */
export const TOKEN_USER = "ada";
export const TOKEN_PASSWORD = "open sesame";

/** A registry that accepts only tokens of a token server, as large registries do. */
export interface TokenRegistry extends AsyncDisposable {
  /** `127.0.0.1:PORT` */
  readonly host: string;
  /** The token requests: the scopes and the authorization of each. */
  readonly asked: { scopes: string[]; authorization: string | undefined }[];
  readonly requests: string[];
}

/**
 * Starts a token server and a checking proxy in front of an open registry. Anonymous clients can read, TOKEN_USER can
 * write. Debian's registry would require signed tokens of its own format, which makes no difference to clients.
 *
 * @param options.uses the number of requests that a token is valid for; default: any number
 */
export async function tokenRegistry(upstream: string, options: { uses?: number } = {}): Promise<TokenRegistry> {
  const asked: TokenRegistry["asked"] = [];
  const tokens = new Map<string, { scopes: string[]; left: number }>();
  const server = createServer(({ url, headers: { authorization } }, response) => {
    const scopes = new URL(url ?? "", "http://any").searchParams.getAll("scope");
    asked.push({ scopes, authorization });
    const basic = `Basic ${Buffer.from(`${TOKEN_USER}:${TOKEN_PASSWORD}`).toString("base64")}`;
    if (authorization !== undefined && authorization !== basic) {
      response.writeHead(401).end('{"errors":[{"code":"UNAUTHORIZED","message":"wrong password"}]}');
      return;
    }
    const token = `token-${asked.length}`;
    // An anonymous client gets only read access, even if it requests more.
    const granted = authorization === basic ? scopes : scopes.map((scope) => scope.replace(/pull,push$/, "pull"));
    tokens.set(token, { scopes: granted, left: options.uses ?? Number.POSITIVE_INFINITY });
    response.end(JSON.stringify({ access_token: token, expires_in: 300 }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const realm = `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`;
  const proxy: FaultyRegistry = await faultyRegistry(upstream);
  proxy.fault = ({ method, path, headers }) => {
    const repository = /^\/v2\/(.+)\/(?:manifests|blobs|tags|referrers)\//.exec(path)?.[1] ?? "";
    const action = method === "GET" || method === "HEAD" ? "pull" : "push";
    const token = tokens.get(headers.authorization?.replace("Bearer ", "") ?? "");
    const fits = token?.scopes.some((scope) => {
      const [, name = "", actions = ""] = scope.split(":");
      return name === repository && actions.split(",").includes(action);
    });
    if (token !== undefined && fits === true && token.left > 0) {
      token.left -= 1;
      return undefined;
    }
    const challenge = `Bearer realm="${realm}",service="gate",scope="repository:${repository}:${action}"`;
    return { kind: "answer", status: 401, headers: { "www-authenticate": challenge } };
  };
  return {
    host: proxy.host,
    asked,
    requests: proxy.requests,
    [Symbol.asyncDispose]: async () => {
      await proxy[Symbol.asyncDispose]();
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

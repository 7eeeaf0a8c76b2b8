import { sign, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { type Certificates, makeCertificates } from "./certificates.ts";
import { REGISTRY_PASSWORD, REGISTRY_USER, startRegistry } from "./registry.ts";
import type { Workspace } from "./workspace.ts";

/** Repositories below this path can be pulled without credentials. */
export const PUBLIC_PATH = "public";

const ISSUER = "test token server";
const SERVICE = "test registry";

/** A registry over TLS whose token server, over TLS too, is another host. */
export interface TlsRegistry extends AsyncDisposable {
  /** `127.0.0.1:PORT` */
  readonly host: string;
  /** `localhost:PORT`: the token server. */
  readonly realm: string;
  /** The file of the CA that issued the certificates of both. */
  readonly ca: string;
}

/**
 * Starts Debian's docker-registry with TLS and token authentication: REGISTRY_USER may do anything, others may pull
 * what is below PUBLIC_PATH. The test needs `needs("docker-registry", "openssl")`.
 *
 * @see https://distribution.github.io/distribution/spec/auth/token/
 */
export async function startTlsRegistry(workspace: Workspace): Promise<TlsRegistry> {
  const certificates = await makeCertificates(workspace);
  const { ca, cert, key } = certificates;
  const basic = `Basic ${Buffer.from(`${REGISTRY_USER}:${REGISTRY_PASSWORD}`).toString("base64")}`;
  const tokens = createServer(
    { cert: readFileSync(cert), key: readFileSync(key) },
    ({ url, headers: { authorization } }, response) => {
      const scopes = new URL(url ?? "", "https://any").searchParams.getAll("scope");
      response.end(JSON.stringify({ token: tokenFor(scopes, authorization === basic, certificates) }));
    },
  );
  tokens.listen(0, "localhost");
  await once(tokens, "listening");
  const realm = `localhost:${(tokens.address() as AddressInfo).port}`;
  const registry = await startRegistry({
    tls: certificates,
    token: { realm: `https://${realm}/token`, service: SERVICE, issuer: ISSUER, rootcertbundle: ca },
  });
  return {
    host: registry.host,
    realm,
    ca,
    [Symbol.asyncDispose]: async () => {
      await registry.stop();
      tokens.closeAllConnections();
      tokens.close();
      await once(tokens, "close");
    },
  };
}

/** A JSON Web Token that grants scopes, such as `repository:public/fn:pull`. */
function tokenFor(scopes: readonly string[], isUser: boolean, { cert, key }: Certificates): string {
  const access = scopes.flatMap((scope) => {
    const [type = "", name = "", actions = ""] = scope.split(":");
    const granted = isUser ? actions.split(",") : name.startsWith(`${PUBLIC_PATH}/`) ? ["pull"] : [];
    return granted.length === 0 ? [] : [{ type, name, actions: granted }];
  });
  const now = Math.floor(Date.now() / 1000);
  const chain = [new X509Certificate(readFileSync(cert)).raw.toString("base64")];
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const header = part({ typ: "JWT", alg: "ES256", x5c: chain });
  const times = { iat: now, nbf: now - 60, exp: now + 300 };
  const claims = part({ iss: ISSUER, aud: SERVICE, sub: "", jti: "1", access, ...times });
  const signature = sign("sha256", Buffer.from(`${header}.${claims}`), {
    key: readFileSync(key),
    dsaEncoding: "ieee-p1363",
  });
  return `${header}.${claims}.${signature.toString("base64url")}`;
}

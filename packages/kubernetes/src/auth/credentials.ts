import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { isObject, type JsonObject, type JsonValue } from "@xfn/json";
import type { ClusterAccess, RequestHeaders } from "./access.ts";
import { ExecCredentials } from "./exec-credentials.ts";
import { KubeconfigError } from "./kubeconfig-error.ts";
import { LegacyProvider } from "./legacy-provider.ts";
import { TokenFile } from "./token-file.ts";

/** A user and a cluster of a kubeconfig. Relative paths start at the folder of the file that contains them. */
export interface CredentialsInput {
  readonly name: string;
  readonly user: JsonObject;
  readonly folder: string;
  readonly cluster: JsonObject;
  readonly clusterFolder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

type Credentials = Pick<ClusterAccess, "tls" | "headers" | "refresh">;
type Identity = Pick<Credentials, "headers" | "refresh"> & {
  /** A client certificate that was issued with the token. */
  certificate?(): Promise<{ cert?: string; key?: string }>;
};

/** The credentials of a kubeconfig's user: a certificate, token, password, program, or legacy `auth-provider`. */
export function credentialsOf(input: CredentialsInput): Credentials {
  const { user, folder, cluster, clusterFolder } = input;
  const identity = identityOf(input);
  const impersonated = impersonation(user);
  const certificate = async (): Promise<{ cert?: string; key?: string }> => {
    const [cert, key] = await Promise.all([pem(user, "client-certificate", folder), pem(user, "client-key", folder)]);
    return { ...(cert === undefined ? {} : { cert }), ...(key === undefined ? {} : { key }) };
  };
  return {
    async tls() {
      const [ca, own, issued] = await Promise.all([
        pem(cluster, "certificate-authority", clusterFolder),
        certificate(),
        identity.certificate?.(),
      ]);
      return {
        ca,
        ...own,
        ...issued,
        serverName: stringOf(cluster, "tls-server-name"),
        insecureSkipVerify: cluster["insecure-skip-tls-verify"] === true,
      };
    },
    headers() {
      const headers = identity.headers();
      if (impersonated === undefined) return headers;
      return headers instanceof Promise
        ? headers.then((some) => ({ ...some, ...impersonated }))
        : { ...headers, ...impersonated };
    },
    refresh: () => identity.refresh(),
  };
}

function identityOf({ name, user, folder, cluster, env }: CredentialsInput): Identity {
  const file = stringOf(user, "tokenFile");
  if (file !== undefined) return new TokenFile(resolve(folder, file));
  const token = stringOf(user, "token");
  if (token !== undefined) return fixed({ authorization: `Bearer ${token}` });
  if (isObject(user["exec"])) return new ExecCredentials({ user: name, exec: user["exec"], folder, cluster, env });
  if (isObject(user["auth-provider"])) return new LegacyProvider(name, user["auth-provider"]);
  const username = stringOf(user, "username");
  if (username === undefined) return fixed({});
  const pair = `${username}:${stringOf(user, "password") ?? ""}`;
  return fixed({ authorization: `Basic ${Buffer.from(pair).toString("base64")}` });
}

function fixed(headers: Readonly<Record<string, string>>): Identity {
  return { headers: () => headers, refresh: async () => false };
}

function impersonation(user: JsonObject): RequestHeaders | undefined {
  const as = stringOf(user, "as");
  const uid = stringOf(user, "as-uid");
  if (as === undefined) return undefined;
  const groups = textsOf(user["as-groups"]);
  const extra = isObject(user["as-user-extra"]) ? user["as-user-extra"] : {};
  // A key may have characters that a header's name cannot have (Kubernetes, "User impersonation").
  const extras = Object.keys(extra).map((key) => [
    `impersonate-extra-${encodeURIComponent(key).toLowerCase()}`,
    textsOf(extra[key]),
  ]);
  return {
    "impersonate-user": as,
    ...(uid === undefined ? {} : { "impersonate-uid": uid }),
    ...(groups.length === 0 ? {} : { "impersonate-group": groups }),
    ...(Object.fromEntries(extras) as RequestHeaders),
  };
}

function textsOf(value: JsonValue | undefined): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

/** `KEY-data` in base64, else the file that `KEY` names. */
async function pem(object: JsonObject, key: string, folder: string): Promise<string | undefined> {
  const data = stringOf(object, `${key}-data`);
  if (data !== undefined) return Buffer.from(data, "base64").toString();
  const path = stringOf(object, key);
  if (path === undefined) return undefined;
  try {
    return await readFile(resolve(folder, path), "utf8");
  } catch (cause) {
    throw new KubeconfigError("Unreadable", `${key} ${path} of the kubeconfig cannot be read: ${String(cause)}`, {
      cause,
    });
  }
}

/** A non-empty string of a kubeconfig entry. */
export function stringOf(object: JsonObject, key: string): string | undefined {
  const value = object[key];
  return typeof value === "string" && value !== "" ? value : undefined;
}

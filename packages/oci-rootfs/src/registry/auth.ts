import type { RegistryAuth } from "@xfn/runner-contract";

/** A challenge of the `WWW-Authenticate` header (RFC 9110, section 11.6.1). */
export interface Challenge {
  /** Lower case. */
  readonly scheme: string;
  /** Names in lower case. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** A longer header is an attack on the parser. */
const MAX_HEADER = 8192;

/** Parses a `WWW-Authenticate` header, without the parts that are invalid. */
export function parseChallenges(header: string): Challenge[] {
  const challenges: { scheme: string; parameters: Record<string, string> }[] = [];
  let rest = header.slice(0, MAX_HEADER).trim();
  while (rest !== "") {
    const parameter = /^([!#$%&'*+.^_`|~\w-]+)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))[ \t]*,?[ \t]*/.exec(rest);
    const current = challenges.at(-1);
    if (parameter !== null && current !== undefined) {
      const value = parameter[2] === undefined ? (parameter[3] ?? "") : parameter[2].replace(/\\(.)/g, "$1");
      current.parameters[(parameter[1] ?? "").toLowerCase()] = value;
      rest = rest.slice(parameter[0].length);
      continue;
    }
    const scheme = /^([!#$%&'*+.^_`|~\w-]+)[ \t]*,?[ \t]*/.exec(rest);
    if (scheme === null) break;
    challenges.push({
      scheme: (scheme[1] ?? "").toLowerCase(),
      parameters: Object.create(null) as Record<string, string>,
    });
    rest = rest.slice(scheme[0].length);
  }
  return challenges;
}

/** The value of a Basic authorization header; undefined without name and password. */
export function basicAuthorization(auth: RegistryAuth): string | undefined {
  if (auth.username !== undefined || auth.password !== undefined) {
    return `Basic ${Buffer.from(`${auth.username ?? ""}:${auth.password ?? ""}`).toString("base64")}`;
  }
  return auth.auth === undefined || auth.auth === "" ? undefined : `Basic ${auth.auth.trim()}`;
}

/**
 * Well-known token servers whose host differs from the registry's. Any other host gets credentials only if the caller
 * trusts it, because a registry could name any host.
 */
const TOKEN_HOSTS: Readonly<Record<string, string>> = {
  "registry-1.docker.io": "auth.docker.io",
  "registry.gitlab.com": "gitlab.com",
};

/** Whether the registry's credentials may be sent to a token server. */
export function mayAuthenticateAt(realm: URL, registry: URL, trusted: readonly string[]): boolean {
  // Plain http requires that the caller accepts it for the registry itself.
  if (realm.protocol !== "https:" && registry.protocol === "https:") return false;
  return (
    realm.hostname === registry.hostname ||
    TOKEN_HOSTS[registry.hostname] === realm.hostname ||
    trusted.includes(realm.host)
  );
}

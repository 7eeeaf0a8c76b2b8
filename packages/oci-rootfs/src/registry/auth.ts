import type { RegistryAuth } from "@xfn/runner-contract";

/** One way of authenticating that a registry offers (RFC 9110, section 11.6.1). */
export interface Challenge {
  /** Lower case. */
  readonly scheme: string;
  /** Names in lower case. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** Beyond this a header is not a challenge but an attack on the parser. */
const MAX_HEADER = 8192;

/** Reads a `WWW-Authenticate` header; what cannot be read is left out. */
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

/** Value of a Basic authorization header; undefined where there is no name and password. */
export function basicAuthorization(auth: RegistryAuth): string | undefined {
  if (auth.username !== undefined || auth.password !== undefined) {
    return `Basic ${Buffer.from(`${auth.username ?? ""}:${auth.password ?? ""}`).toString("base64")}`;
  }
  return auth.auth === undefined || auth.auth === "" ? undefined : `Basic ${auth.auth.trim()}`;
}

/**
 * Token servers under another name than their registry's, known to belong together. Any other foreign host gets no
 * credentials unless the caller names it: a registry could name anyone's host.
 */
const TOKEN_HOSTS: Readonly<Record<string, string>> = {
  "registry-1.docker.io": "auth.docker.io",
  "registry.gitlab.com": "gitlab.com",
};

/** Whether a token server may be given the registry's credentials. */
export function mayAuthenticateAt(realm: URL, registry: URL, trusted: readonly string[]): boolean {
  // In the clear only where the caller has accepted that for the registry itself.
  if (realm.protocol !== "https:" && registry.protocol === "https:") return false;
  return (
    realm.hostname === registry.hostname ||
    TOKEN_HOSTS[registry.hostname] === realm.hostname ||
    trusted.includes(realm.host)
  );
}

import { generateKeyPairSync, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { printYaml } from "@xfn/json/document";

export interface ServerUser {
  readonly name: string;
  readonly token: string;
  /** The path of a kubeconfig with the token, for `kubectl` and `KUBECONFIG`. */
  readonly kubeconfig: string;
}

/** The user with all permissions, by the group `system:masters`. */
export const ADMIN = "admin";

/**
 * Writes the keys of service accounts and the tokens of users, unless an earlier start wrote them. Only their owner can
 * read them.
 *
 * @returns the token of each user
 */
export function writeServerFiles(folder: string, users: readonly string[]): Map<string, string> {
  if (!existsSync(join(folder, "sa.pub"))) {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    write(folder, "sa.key", privateKey.export({ type: "pkcs8", format: "pem" }));
    write(folder, "sa.pub", publicKey.export({ type: "spki", format: "pem" }));
  }
  const tokens = readTokens(join(folder, "tokens.csv"));
  for (const name of [ADMIN, ...users]) {
    if (!tokens.has(name)) tokens.set(name, randomBytes(16).toString("hex"));
  }
  const lines = [...tokens].map(([name, token]) =>
    name === ADMIN ? `${token},${name},${name},system:masters` : `${token},${name},${name}`,
  );
  write(folder, "tokens.csv", `${lines.join("\n")}\n`);
  return tokens;
}

/** Writes the kubeconfig of a user. Runs after the server's first start, which makes its certificate. */
export function writeKubeconfig(folder: string, endpoint: string, ca: string, name: string, token: string): ServerUser {
  const kubeconfig = join(folder, name === ADMIN ? "kubeconfig" : `kubeconfig-${name}`);
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name: "xfn-dev",
        cluster: { server: endpoint, "certificate-authority-data": Buffer.from(ca).toString("base64") },
      },
    ],
    users: [{ name, user: { token } }],
    contexts: [{ name: "xfn-dev", context: { cluster: "xfn-dev", user: name } }],
    "current-context": "xfn-dev",
  };
  writeFileSync(kubeconfig, printYaml(config), { mode: 0o600 });
  return { name, token, kubeconfig };
}

function readTokens(path: string): Map<string, string> {
  const lines = existsSync(path) ? readFileSync(path, "utf8").split("\n") : [];
  const pairs = lines.map((line) => line.split(",")).filter(([token, name]) => token !== "" && name !== undefined);
  return new Map(pairs.map(([token = "", name = ""]) => [name, token]));
}

function write(folder: string, name: string, content: string | Buffer): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(join(folder, name), content, { mode: 0o600 });
}

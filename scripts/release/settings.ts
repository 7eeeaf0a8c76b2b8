import { createPrivateKey, type KeyObject } from "node:crypto";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";

/** The settings of a release: flags, or variables of the environment with the prefix XFN_RELEASE_. */
export interface ReleaseSettings {
  readonly version: string;
  /** The URL of the repository, without `.git`. */
  readonly repository: string;
  /** The prefix of the images' names. */
  readonly registry: string;
  /** Gets all files of the release. */
  readonly output: string;
  /** Whether nothing is published. */
  readonly dryRun: boolean;
  /** Signs checksums, provenance and images. */
  readonly key: KeyObject | undefined;
  /** Whether the registry of images has no TLS. */
  readonly insecure: boolean;
}

/** Placeholders for a dry run, and in deploy/: the repository and the registry have no public names yet. */
export const EXAMPLES = { repository: "https://git.example.org/xfn", registry: "registry.example.org" } as const;

/** Semantic Versioning 2.0.0, without build metadata, which tags of images cannot have. */
const VERSION = /^(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$/;

/** @throws Error that names the missing or wrong flag */
export function releaseSettings(args: readonly string[], env: NodeJS.ProcessEnv = process.env): ReleaseSettings {
  const text = { type: "string" } as const;
  const flag = { type: "boolean", default: false } as const;
  const options = { version: text, repository: text, registry: text, output: text, key: text } as const;
  const { values } = parseArgs({ args: [...args], options: { ...options, "dry-run": flag, insecure: flag } });
  const given = (name: keyof typeof options): string | undefined =>
    values[name] ?? (env[`XFN_RELEASE_${name.toUpperCase()}`] || undefined);
  const version = given("version") ?? "";
  if (!VERSION.test(version))
    throw new Error(`--version must be a semantic version such as 1.2.3, not ${JSON.stringify(version)}`);
  const dryRun = values["dry-run"];
  const required = (name: keyof typeof EXAMPLES, meaning: string): string => {
    const value = given(name) ?? (dryRun ? EXAMPLES[name] : undefined);
    if (value === undefined) throw new Error(`--${name} is missing: ${meaning}. A --dry-run needs none`);
    return value.replace(/\/+$/, "");
  };
  const repository = required("repository", "the public URL of the repository, which the packages link to");
  const registry = required("registry", "the registry and path of the images, such as ghcr.io/org");
  const path = given("key");
  if (path === undefined && !dryRun)
    throw new Error("--key is missing: a PEM file with the private key that signs the release");
  const key = path === undefined ? undefined : createPrivateKey(readFileSync(path));
  const output = resolve(given("output") ?? "dist/release");
  return { version, repository, registry, output, dryRun, key, insecure: values.insecure };
}

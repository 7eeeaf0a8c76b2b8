import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/** A file that may have credentials. */
export interface CredentialFile {
  readonly path: string;
  /** Whether the file is `auths` alone, as the oldest versions of Docker wrote it. */
  readonly legacy?: boolean;
  /** Whether the folder may belong to others. A file that this user cannot reach then counts as missing. */
  readonly shared?: boolean;
}

/**
 * The files with credentials that Podman, Buildah, Skopeo and Docker write, in the order of containers-auth.json(5).
 * The first file with an entry wins. `REGISTRY_AUTH_FILE` excludes the others.
 */
export function credentialFiles(env: NodeJS.ProcessEnv = process.env): readonly CredentialFile[] {
  const [chosen, runtime, config] = [env["REGISTRY_AUTH_FILE"], env["XDG_RUNTIME_DIR"], env["XDG_CONFIG_HOME"]].map(
    (value) => (value === "" ? undefined : value),
  );
  if (chosen !== undefined) return [{ path: chosen }];
  const home = homeOf(env);
  const below = (...names: string[]): string | undefined => (home === undefined ? undefined : join(home, ...names));
  const files: (CredentialFile | undefined)[] = [
    runtime === undefined
      ? { path: `/run/containers/${process.geteuid?.() ?? 0}/auth.json`, shared: true }
      : at(join(runtime, "containers", "auth.json")),
    at(config === undefined ? below(".config", "containers", "auth.json") : join(config, "containers", "auth.json")),
    dockerConfigFile(env),
    at(below(".dockercfg"), true),
  ];
  return files.filter((file) => file !== undefined);
}

/** The file of Docker, which `xfn login` writes by default: it is the one that outlives the session. */
export function dockerConfigFile(env: NodeJS.ProcessEnv): CredentialFile | undefined {
  const { DOCKER_CONFIG: folder } = env;
  if (folder !== undefined && folder !== "") return { path: join(folder, "config.json") };
  const home = homeOf(env);
  return home === undefined ? undefined : { path: join(home, ".docker", "config.json") };
}

function at(path: string | undefined, legacy = false): CredentialFile | undefined {
  return path === undefined || !isAbsolute(path) ? undefined : { path, ...(legacy && { legacy }) };
}

function homeOf({ HOME: home }: NodeJS.ProcessEnv): string | undefined {
  if (home !== undefined) return isAbsolute(home) ? home : undefined;
  try {
    return homedir();
  } catch {
    // A user without a home directory has no file either.
    return undefined;
  }
}

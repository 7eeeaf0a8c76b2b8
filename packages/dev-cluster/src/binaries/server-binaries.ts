import { createHash } from "node:crypto";
import { accessSync, constants, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { cacheDir } from "@xfn/runner/cache-dir";

/** The programs of a Kubernetes API server, with the Go packages that they are built from. */
export const PROGRAMS = {
  etcd: "go.etcd.io/etcd/server/v3",
  "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
  "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
  kubectl: "k8s.io/kubernetes/cmd/kubectl",
} as const;

export type Program = keyof typeof PROGRAMS;

/** Absolute paths. */
export type ServerBinaries = Readonly<Record<Program, string>>;

/** All binaries, or the missing ones. */
export type FoundBinaries =
  | { readonly binaries: ServerBinaries; readonly missing?: undefined }
  | { readonly binaries?: undefined; readonly missing: readonly Program[] };

/**
 * Looks for each program in the folder `KUBEBUILDER_ASSETS` (the convention of envtest, whose archives lack the
 * controller manager), then in {@link builtBinaries}. Only `kubectl` may also be on the PATH: a server of another
 * version behaves differently.
 */
export function findBinaries(env: NodeJS.ProcessEnv = process.env): FoundBinaries {
  const assets = env["KUBEBUILDER_ASSETS"] ?? "";
  const folders = [...(assets === "" ? [] : [assets]), builtBinaries(env)];
  const found = new Map<Program, string>();
  for (const program of Object.keys(PROGRAMS) as Program[]) {
    const more = program === "kubectl" ? (env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "") : [];
    const path = [...folders, ...more].map((folder) => join(folder, program)).find(isExecutable);
    if (path !== undefined) found.set(program, path);
  }
  const missing = (Object.keys(PROGRAMS) as Program[]).filter((program) => !found.has(program));
  return missing.length === 0 ? { binaries: Object.fromEntries(found) as ServerBinaries } : { missing };
}

/** The message for a machine without the binaries. */
export function explainMissing(missing: readonly Program[]): string {
  return `API server binaries are missing (${missing.join(", ")}): set KUBEBUILDER_ASSETS to a folder that has them, or install Go (https://go.dev/dl/) to build them`;
}

/** The folder of the binaries that xfn built. Each set of versions has its own. */
export function builtBinaries(env: NodeJS.ProcessEnv = process.env): string {
  const sources = moduleFolder();
  const hash = createHash("sha256");
  for (const name of ["go.mod", "go.sum"]) hash.update(readFileSync(join(sources, name)));
  return join(cacheDir(env), "api-server", hash.digest("hex").slice(0, 16));
}

/** The folder with the go.mod that names and pins the modules of the programs. */
export function moduleFolder(): string {
  return fileURLToPath(new URL("../../api-server", import.meta.url));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

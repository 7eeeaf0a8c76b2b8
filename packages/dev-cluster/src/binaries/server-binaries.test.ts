import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { builtBinaries, explainMissing, findBinaries, PROGRAMS } from "./server-binaries.ts";

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});

function put(place: string, ...programs: readonly string[]): string {
  const path = join(folder, place);
  mkdirSync(path, { recursive: true });
  for (const program of programs) writeFileSync(join(path, program), "", { mode: 0o755 });
  return path;
}

test("prefers the programs of KUBEBUILDER_ASSETS to the built ones", () => {
  const env = { XDG_CACHE_HOME: folder, KUBEBUILDER_ASSETS: put("assets", "etcd", "kube-apiserver", "kubectl") };
  const built = builtBinaries(env);
  put(built.slice(folder.length + 1), ...Object.keys(PROGRAMS));
  expect(findBinaries(env).binaries).toEqual({
    etcd: join(folder, "assets/etcd"),
    "kube-apiserver": join(folder, "assets/kube-apiserver"),
    // The archives of envtest lack it.
    "kube-controller-manager": join(built, "kube-controller-manager"),
    kubectl: join(folder, "assets/kubectl"),
  });
});

test("takes only kubectl from the PATH, since servers of other versions behave differently", () => {
  const env = { XDG_CACHE_HOME: folder, PATH: put("bin", ...Object.keys(PROGRAMS)) };
  expect(findBinaries(env).missing).toEqual(["etcd", "kube-apiserver", "kube-controller-manager"]);
});

test("a file that is not executable counts as missing, and the message says what to do", () => {
  const env = { XDG_CACHE_HOME: folder, KUBEBUILDER_ASSETS: put("assets", "etcd") };
  writeFileSync(join(folder, "assets/kubectl"), "", { mode: 0o644 });
  const { missing = [] } = findBinaries(env);
  expect(missing).toEqual(["kube-apiserver", "kube-controller-manager", "kubectl"]);
  expect(explainMissing(missing)).toMatch(/kube-apiserver.*KUBEBUILDER_ASSETS.*Go/);
});

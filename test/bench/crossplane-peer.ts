import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";

const MODULE = "github.com/crossplane/crossplane@v1.13.2";

/**
 * A program that renders with the engine of Crossplane v1.13.2 (see crossplane-peer/main.go); undefined where there is no
 * Go. It is built in a copy of the module, where alone the engine can be imported, and kept for the next time: the first
 * build takes minutes.
 */
export function crossplanePeer(): string | undefined {
  const source = join(import.meta.dirname, "crossplane-peer", "main.go");
  const version = createHash("sha256").update(MODULE).update(readFileSync(source)).digest("hex").slice(0, 16);
  const cache = join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "xfn-bench");
  const program = join(cache, `crossplane-${version}`);
  if (existsSync(program)) return program;
  const go = (args: string[], cwd: string): string => execFileSync("go", args, { cwd, encoding: "utf8" });
  const directory = mkdtempSync(join(tmpdir(), "xfn-bench-"));
  try {
    go(["version"], directory);
    const { Dir } = JSON.parse(go(["mod", "download", "-json", MODULE], directory)) as { Dir: string };
    const copy = join(directory, "crossplane");
    cpSync(Dir, copy, { recursive: true });
    // Modules are read-only.
    execFileSync("chmod", ["-R", "u+w", copy]);
    const command = join(copy, "cmd", "peer");
    mkdirSync(command);
    cpSync(source, join(command, "main.go"));
    go(["build", "-mod=mod", "-o", program, "./cmd/peer"], copy);
    return program;
  } catch (error) {
    console.error(`bench: no peer, as Crossplane's engine could not be built: ${String(error).split("\n")[0]}`);
    return undefined;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

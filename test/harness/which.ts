import { spawnSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import process from "node:process";

/** Returns the absolute path of a program on the PATH of the tests. */
export function which(program: string): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.map((folder) => join(folder, program)).find(isExecutable);
}

/** Debian's headless chromium is half as large and sufficient. Developers may have the full one. */
export function browserProgram(): string | undefined {
  return which("chromium-headless-shell") ?? which("chromium");
}

/** Finds a Python with gRPC. The first on the PATH may be a version manager's, without the distribution's packages. */
export function pythonWithGrpc(): string | undefined {
  const has = (python: string): boolean =>
    spawnSync(python, ["-c", "import grpc, google.protobuf"], { timeout: 10_000 }).status === 0;
  return ["python3", "/usr/bin/python3"].find(has);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

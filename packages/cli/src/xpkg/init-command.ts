import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { messageOf } from "@xfn/errors";
import { isPackageName } from "@xfn/package";
import { ExitCode } from "@xfn/program/exit-code";
import { CliError, usageError } from "../errors/cli-error.ts";
import type { Output } from "../terminal/output.ts";

/** Flags of `xfn xpkg init`, as commander parsed them. */
export interface XpkgInitFlags {
  readonly directory: string;
}

/** The folders of templates/xpkg. */
const KINDS: readonly string[] = ["configuration", "provider"];

/** `xfn xpkg init`: writes the sources of a package into an empty folder. Prints the folder. */
export async function runXpkgInit(
  name: string,
  template: string,
  { directory }: XpkgInitFlags,
  { output, packageFolder }: { readonly output: Output; readonly packageFolder: URL },
): Promise<number> {
  const kind = template.replace(/-template$/, "");
  if (!KINDS.includes(kind)) {
    const hint = template.includes("/")
      ? "xfn copies no repositories: `git clone --depth 1 URL` does"
      : "`xfn init` makes functions, with their tests";
    throw usageError(`TEMPLATE must be one of ${KINDS.join(", ")}, not ${JSON.stringify(template)}`, [hint]);
  }
  if (!isPackageName(name))
    throw usageError(`NAME ${JSON.stringify(name)} must be a Kubernetes name: lower case letters, digits and dashes`);
  if (existsSync(directory) && readdirSync(directory).some((file) => file !== ".git"))
    throw usageError(`the folder ${directory} is not empty: name another one with --directory`);
  try {
    const source = fileURLToPath(new URL(`templates/xpkg/${kind}/`, packageFolder));
    for (const file of readdirSync(source, { recursive: true, encoding: "utf8" })) {
      if (!file.endsWith(".yaml")) continue;
      const path = join(directory, file);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, readFileSync(join(source, file), "utf8").replaceAll("__NAME__", name), { flag: "wx" });
    }
  } catch (cause) {
    const why = messageOf(cause);
    throw new CliError("Failed", `cannot write the package into ${directory}: ${why}`, { cause });
  }
  await output.product(`${directory}\n`);
  output.note(`xfn: next: xfn xpkg build -f ${directory}`);
  return ExitCode.ok;
}

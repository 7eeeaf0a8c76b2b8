import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { messageOf } from "@xfn/errors";
import { generateTypes } from "@xfn/functionio/types";
import { readDocuments } from "@xfn/json/document";
import { ExitCode } from "@xfn/program/exit-code";
import { CliError, usageError } from "../errors/cli-error.ts";
import type { Output } from "../terminal/output.ts";
import { packageSources } from "./local-packages.ts";
import { TEMPLATES, type Template, type TemplateName, TOOLS } from "./templates.ts";

/** The oldest Node that the packages run on: their own `engines`. */
const NODE = ">=24";

// The name becomes part of image names, of Kubernetes names and of npm's.
const NAME = /^[a-z](?:[-a-z0-9]{0,38}[a-z0-9])?$/;

export interface InitOptions {
  /** The folder, which must not exist or must be empty; its name is the project's. */
  readonly path: string;
  readonly template: TemplateName;
  /** The folder of @xfn/cli. */
  readonly packageFolder: URL;
  readonly output: Output;
}

/**
 * `xfn init`: makes a project that its own `npm install` and `npm test` work in. The folder appears when it is
 * complete.
 */
export async function initProject({ path, template, packageFolder, output }: InitOptions): Promise<number> {
  const folder = resolve(path);
  const name = basename(folder);
  if (!NAME.test(name))
    throw usageError(`the name ${JSON.stringify(name)} must be lower case letters, digits and dashes, at most 40`);
  if (existsSync(folder) && readdirSync(folder).length > 0)
    throw usageError(`the folder ${path} is not empty: name one that does not exist`);
  mkdirSync(dirname(folder), { recursive: true });
  const draft = mkdtempSync(join(dirname(folder), ".xfn-init-"));
  try {
    output.status("packing the packages that the project depends on");
    await writeProject(draft, name, TEMPLATES[template], packageFolder);
    if (existsSync(folder)) rmdirSync(folder);
    renameSync(draft, folder);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    if (error instanceof CliError) throw error;
    throw new CliError("Failed", `cannot make ${path}: ${messageOf(error)}`, {
      cause: error,
    });
  } finally {
    output.status(undefined);
  }
  await output.product(`${path}\n`);
  output.note(`xfn: next: cd ${path} && npm install && npm test; README.md names the other commands`);
  return ExitCode.ok;
}

async function writeProject(folder: string, name: string, template: Template, packageFolder: URL): Promise<void> {
  const fill = placeholders(name);
  const source = new URL("templates/", packageFolder);
  for (const [from, to] of Object.entries(template.files)) {
    const target = join(folder, to);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, fill(readFileSync(new URL(from, source), "utf8")));
  }
  if (template.types !== undefined) {
    const definition = readDocuments(readFileSync(join(folder, "definition.yaml")), { source: "definition.yaml" });
    writeFileSync(join(folder, template.types), generateTypes([...definition], { sources: ["definition.yaml"] }));
  }
  const { direct, indirect } = await packageSources(template.packages, packageFolder, folder);
  const manifest = {
    name,
    private: true,
    type: "module",
    engines: { node: NODE },
    scripts: Object.fromEntries(Object.entries(template.scripts).map(([key, script]) => [key, fill(script)])),
    devDependencies: { ...direct, ...TOOLS },
    ...(Object.keys(indirect).length > 0 && { overrides: indirect }),
  };
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
}

/** Fills in what depends on the project's name: `my-app` composes an `XMyApp`, plural `xmyapps`. */
function placeholders(name: string): (text: string) => string {
  const kind = `X${name.replaceAll(/(?:^|-)([a-z0-9])/g, (_, first: string) => first.toUpperCase())}`;
  const values: Readonly<Record<string, string>> = { NAME: name, KIND: kind, PLURAL: `${kind.toLowerCase()}s` };
  return (text) => text.replaceAll(/__([A-Z]+)__/g, (whole, key: string) => values[key] ?? whole);
}

import { addHostBases } from "./host-bases.ts";
import type { Workspace } from "./workspace.ts";

const programs = {
  node: '#!/usr/bin/env node\neval(require("node:fs").readFileSync(0, "utf8"));\n',
  python: "#!/usr/bin/env python3\nimport sys\nexec(sys.stdin.read())\n",
} as const;

/** Builds an image whose function runs its stdin as code of a language. @returns its name */
export async function buildCodeFunction(workspace: Workspace, language: keyof typeof programs): Promise<string> {
  const image = `test/${language}`;
  await addHostBases(workspace, language);
  await workspace.write(`${language}/function`, programs[language], { mode: 0o755 });
  const built = await workspace.xfn(["build", workspace.path(language), "-t", image]);
  if (built.code !== 0) throw new Error(`cannot build ${image}: ${built.stderr}`);
  return image;
}

import { type ExecFileException, execFile } from "node:child_process";

/** How a program ended. */
export interface Ended {
  readonly code: number | string;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program with an environment of its own. It must not block this process, which reads the registries' logs. */
export function tryAs(env: NodeJS.ProcessEnv, cwd: string, command: string, args: readonly string[]): Promise<Ended> {
  return new Promise((resolve) => {
    const done = (error: ExecFileException | null, stdout: string, stderr: string): void =>
      resolve({ code: error?.code ?? (error === null ? 0 : 1), stdout, stderr });
    execFile(command, args, { cwd, env, encoding: "utf8", maxBuffer: 2 ** 26 }, done);
  });
}

/** @throws Error with the program's output if it fails */
export async function runAs(
  env: NodeJS.ProcessEnv,
  cwd: string,
  command: string,
  args: readonly string[],
): Promise<string> {
  const { code, stdout, stderr } = await tryAs(env, cwd, command, args);
  if (code !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${code}:\n${stdout}${stderr}`);
  return stdout;
}

/** Runs a program of the installation in `app`, or a file, and checks that it prints a text. */
export async function expectOutput(
  { env, app }: { readonly env: NodeJS.ProcessEnv; readonly app: string },
  program: string,
  args: readonly string[],
  text: string,
): Promise<void> {
  const path = `${app}/node_modules/.bin:${env["PATH"] ?? ""}`;
  const stdout = await runAs({ ...env, PATH: path }, app, program, args);
  if (!stdout.includes(text)) throw new Error(`${program} ${args.join(" ")}: expected ${text} in:\n${stdout}`);
}

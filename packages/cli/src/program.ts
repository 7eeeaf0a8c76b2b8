import { addBuild } from "./commands/build.ts";
import { addCompletion } from "./commands/completion.ts";
import { addConvert } from "./commands/convert.ts";
import { addCopy } from "./commands/copy.ts";
import { addDev } from "./commands/dev.ts";
import { addDoctor } from "./commands/doctor.ts";
import { addImages } from "./commands/images.ts";
import { addInit } from "./commands/init.ts";
import { addInspect } from "./commands/inspect.ts";
import { addLogin, addLogout } from "./commands/login.ts";
import { addOperation } from "./commands/operation.ts";
import { addPull } from "./commands/pull.ts";
import { addPush } from "./commands/push.ts";
import { addRender } from "./commands/render.ts";
import { addRollout } from "./commands/rollout.ts";
import { addRun } from "./commands/run.ts";
import { addSchema } from "./commands/schema.ts";
import { addTrace } from "./commands/trace.ts";
import { addTypes } from "./commands/types.ts";
import { addValidate } from "./commands/validate.ts";
import { addVersion } from "./commands/version.ts";
import { addXpkg } from "./commands/xpkg.ts";
import { runProgram } from "./run-program.ts";
import { type Output, processOutput } from "./terminal/output.ts";

const COMMANDS = [
  addRender,
  addRun,
  addBuild,
  addPull,
  addPush,
  addCopy,
  addImages,
  addLogin,
  addLogout,
  addXpkg,
  addRollout,
  addOperation,
  addInit,
  addSchema,
  addTypes,
  addValidate,
  addConvert,
  addTrace,
  addInspect,
  addDoctor,
  addDev,
  addVersion,
  addCompletion,
];

/**
 * Runs one command of xfn and returns its exit code. Never rejects.
 *
 * @param args - the arguments after `xfn`
 */
export async function main(args: readonly string[], output: Output = processOutput()): Promise<number> {
  return await runProgram(args, output, COMMANDS);
}

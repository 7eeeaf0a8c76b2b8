import { isApiError } from "@xfn/kubernetes";
import { parseCommandLine } from "./command-line.ts";
import { NotImitated } from "./not-imitated.ts";
import { canI, get } from "./reads.ts";
import { type Command, openSession, type Session } from "./session.ts";
import { wait } from "./waits.ts";
import { apply, create, patch, remove } from "./writes.ts";

/** Runs commands of kubectl in this process, and closes its connection. */
export interface KubectlInProcess {
  /**
   * Returns what kubectl prints to stdout.
   *
   * @throws {NotImitated} kubectl itself must run the command: it is not imitated, or it failed and kubectl has the
   * message
   */
  run(args: readonly string[], input: string): Promise<string>;
  close(): Promise<void>;
}

/**
 * Imitates the frequent commands of tests: `get` as names, JSON or JSONPath, `apply -f -` (server-side), `wait` for a
 * condition or a deletion, `delete` and merge patches. A start of kubectl takes a tenth of a second of processor time,
 * and its `apply` a third; tests that poll start thousands.
 */
export function kubectlInProcess(kubeconfig: string): KubectlInProcess {
  let connected: Promise<Session> | undefined;
  return {
    async run(args, input) {
      const command = parseCommandLine(args);
      const answer = COMMANDS[command.verb];
      if (answer === undefined) throw new NotImitated(command.verb);
      connected ??= openSession(kubeconfig);
      const session = await connected;
      try {
        return await answer(session, command, input);
      } catch (error) {
        // A kind may have been deleted and created again with another scope.
        session.types.forget();
        if (isApiError(error)) throw new NotImitated(error.message, { cause: error });
        throw error;
      }
    },
    async close() {
      await (await connected)?.client.close();
    },
  };
}

const COMMANDS: Readonly<Record<string, Command>> = { get, auth: canI, apply, wait, delete: remove, patch, create };

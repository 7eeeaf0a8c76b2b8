// Completion of command lines in shells.
export { type ArgumentValues, flagIn, type ListedValues } from "./command-tree.ts";
export { type CompletionOptions, declareCompletion } from "./declare-completion.ts";

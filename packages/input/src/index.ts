// @xfn/input: reads files, folders and stdin that a person named.
export { asInputError, documentsOf, positionOf, singleDocument } from "./documents.ts";
export { documentsByFile, documentsOfAll, objectsIn, withoutObjects } from "./folder-documents.ts";
export { InputError, isInputError } from "./input-error.ts";
export { readInput, STDIN, sourceName, statInput, unreadable } from "./read-input.ts";

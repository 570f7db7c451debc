/** The interfaces between the daemon and a handler, member by member, with their comments. */
import { readFileSync } from "node:fs";
import ts from "typescript";
import { code, type Found, table } from "./source-table.ts";

/** Interfaces of src/handlers/handler.ts, in the order in which a handler author meets them. */
const SHAPES = ["Call", "CallLog", "DispatchResult", "HandlerSuccess", "HandlerError"];

/** A heading and a table for each interface. */
export function handlerShapes(): string {
  const file = "src/handlers/handler.ts";
  const text = readFileSync(file, "utf8");
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.ESNext, true);
  const declared = source.statements.filter(ts.isInterfaceDeclaration);
  return SHAPES.map((name) => {
    const shape = declared.find((one) => one.name.text === name);
    if (shape === undefined) throw new Error(`${file} has no interface ${name}`);
    const members: Found = new Map(
      shape.members.map((member) => {
        const key = `${member.name?.getText() ?? ""}${member.questionToken ? "?" : ""}`;
        return [key, [code(typeOf(member)), commentOf(member)]];
      }),
    );
    return `\n## ${name}\n\n${commentOf(shape)}\n\n${table(["member", "type", "meaning"], members, false)}`;
  }).join("");
}

function typeOf(member: ts.TypeElement): string {
  if (ts.isPropertySignature(member)) return oneLine(member.type?.getText() ?? "");
  if (!ts.isMethodSignature(member)) return "";
  const parameters = member.parameters.map((one) => oneLine(one.getText())).join(", ");
  return `(${parameters}) => ${oneLine(member.type?.getText() ?? "void")}`;
}

function commentOf(node: ts.Node): string {
  const [comment] = ts.getJSDocCommentsAndTags(node);
  return oneLine(ts.getTextOfJSDocComment(comment?.comment) ?? "");
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

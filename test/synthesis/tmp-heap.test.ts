import { it, vi } from "vitest";
import v8 from "node:v8"; import vm from "node:vm";
import { readProposedSchema } from "../../src/synthesis/proposed-schema.ts";
import { createContractSchemas } from "../../src/synthesis/contract-schemas.ts";
import { inputShape } from "../../src/contract/input-shape.ts";
vi.setConfig({ testTimeout: 600000 });
v8.setFlagsFromString("--expose-gc"); const gc = vm.runInNewContext("gc") as () => void;
const rep=<T,>(n: number,f:(i:number)=>T)=>Array.from({length:n},(_,i)=>f(i));
const props=(n:number,f:(i:number)=>unknown)=>Object.fromEntries(rep(n,i=>["p"+i,f(i)]));
const maxi=(salt:number)=>({type:"object",properties:props(256,i=>i<32?{type:"string",pattern:`^(?:[a-z${salt}]{1,10}-)?(?:foo|bar${i}){0,2}[\\p{L}]+$`}:{anyOf:[{type:"string",maxLength:i},{type:"integer",minimum:salt},{enum:["a","b","c",i]},{$ref:"#/$defs/x"}].slice(0,i<250?4:3),description:"d".repeat(40)}),$defs:{x:{type:"object",properties:{}}}});
const small=(salt:number)=>({type:"object",required:["id"],properties:{id:{type:"string",format:"uuid"},n:{type:"integer",minimum:salt},code:{type:"string",pattern:`^[A-Z]{3}-${salt}$`}}});
const mb=()=>{gc();gc();return process.memoryUsage().heapUsed/1048576};
it("heap", () => {
  const m=maxi(1); console.log("size",JSON.stringify(m).length);
  for (let k=0;k<6;k++){const t=performance.now(); const r=readProposedSchema(m,"input_schema"); console.log("maximal read",(performance.now()-t).toFixed(1),"fault" in r?r.fault:"ok");}
  {const t=performance.now(); inputShape(m); console.log("inputShape",(performance.now()-t).toFixed(1));}
  const before=mb(); let t=performance.now();
  for(let i=0;i<10000;i++){ const r=readProposedSchema(small(i),"input_schema"); if("fault" in r) throw new Error(JSON.stringify(r)); r.schema.check({id:"x",code:"ABC-1"}); }
  console.log("10k small", (performance.now()-t).toFixed(0)+"ms","heap +",(mb()-before).toFixed(1));
  const b2=mb(); t=performance.now();
  for(let i=0;i<300;i++){ const r=readProposedSchema(maxi(i),"input_schema"); if("fault" in r) throw new Error(JSON.stringify(r)); if(i%3===0) r.schema.check({p1:"x".repeat(1000),p40:1}); }
  console.log("300 maximal", (performance.now()-t).toFixed(0)+"ms","heap +",(mb()-b2).toFixed(1));
  const schemas=createContractSchemas(); const b3=mb(); t=performance.now();
  const held=rep(10000,i=>schemas.compile(small(i))); const b4=mb();
  for(const h of held) h.check({id:"x",code:"ABC-1"}); 
  console.log("10k held", (performance.now()-t).toFixed(0)+"ms","schemas +",(b4-b3).toFixed(1),"prepared +",(mb()-b4).toFixed(1));
  const b5=mb(); const held2=rep(200,i=>schemas.compile(maxi(i))); const b6=mb(); t=performance.now();
  for(const h of held2) h.check(Object.fromEntries(rep(32,i=>["p"+i,rep(2000,j=>String.fromCodePoint(97+(j*j*7)%500)).join("")])));
  console.log("200 max held", (performance.now()-t).toFixed(0)+"ms","schemas +",(b6-b5).toFixed(1),"prepared +",(mb()-b6).toFixed(1)); held.length; held2.length;
});

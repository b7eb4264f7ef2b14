import sys,re,subprocess
tree,path,*m=sys.argv[1:]
sys.path.insert(0,tree)
from gravel.kernels.cuda.source import read_source,compiler_options
from cuda.bindings import nvrtc
t=read_source(path); o=[*compiler_options(t,dict(x.split('=') for x in m)),'--gpu-architecture=sm_90','--ptxas-options=-v']
_,p=nvrtc.nvrtcCreateProgram(t.encode(),b'k.cu',0,[],[]); s,=nvrtc.nvrtcCompileProgram(p,len(o),[x.encode() for x in o])
_,n=nvrtc.nvrtcGetProgramLogSize(p); b=b' '*n; nvrtc.nvrtcGetProgramLog(p,b)
print([ (a) for a in re.findall(r"Used (\d+) registers", b.decode())], re.findall(r"(\d+) bytes spill", b.decode()))

a 
b
a	
